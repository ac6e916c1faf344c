/* options.h: the command line of pack, checked in full before anything is read. */
#ifndef TOOLS_PACK_OPTIONS_H
#define TOOLS_PACK_OPTIONS_H

#include "tools/pack/document.h"
#include "tools/pack/fill.h"
#include "tools/pack/form.h"

enum { OPTION_VALUES_MOST = 64 };

/* Values of an option that may be given several times. */
struct values {
    const char *value[OPTION_VALUES_MOST];
    int count;
};

struct options {
    const char *tokenizer, *out, *held, *template_name, *system;
    struct values held_files, template_set, map, role, fill;
    uint32_t sequence_tokens;
    double held_ratio;
    enum loss_policy loss;
    enum control_policy control;
    enum long_policy too_long;
    enum order_policy order;
    bool end_text, help;
    uint64_t seed;
    int threads;
    int64_t bad_rows; /* most that are allowed; -1: bad_ratio counts */
    double bad_ratio;
    bool show;
    int64_t show_rows, show_first;
    struct pairing maps[OPTION_VALUES_MOST], roles[OPTION_VALUES_MOST], fills[OPTION_VALUES_MOST];
    int maps_count, roles_count, fills_count;
    const char **file; /* what is no option; malloc'd */
    int files;
    char held_path[4096]; /* --held, or held.pack beside --out */
    struct pool pool;     /* of the pairs' texts */
};

/* Reads the command line into options; argv is kept. Returns OK, or E_USAGE after saying what is wrong and what would be right. */
MUST_USE enum status options_read(struct options *options, int argc, char **argv);
void options_close(struct options *options);
/* Prints what --help prints. */
void options_help(void);

#endif
