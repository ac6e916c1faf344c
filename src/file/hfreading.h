/* hfreading.h: typed access to config.json for hfconfig.c and hfrope.c; not for other rooms. Build host and boot.
 *
 * (1) Every accessor takes the reading; after the first refusal its status is not OK, and what is returned is some harmless number. */
#ifndef SRC_FILE_HFREADING_H
#define SRC_FILE_HFREADING_H

#include <jansson.h>

#include "file/hfconfig.h"

struct reading {
    const char *path;
    json_t *root;
    bool quiet;
    enum status status;
};

/* "<path>: "<key>" is <value>; <right>": value as JSON text, cut; NULL: absent. */
void reading_refuse(struct reading *reading, const char *key, const json_t *value, const char *right);
/* A note that default_text was taken for key, unless the reading is quiet. */
void reading_default(const struct reading *reading, const char *key, const char *default_text);

/* NULL where it is absent or null. */
json_t *reading_value(const json_t *object, const char *key);
/* A whole number of the root from least to 2^30; fallback -1: the key must be there. */
int64_t reading_count(struct reading *reading, const char *key, int64_t least, int64_t fallback);
/* A finite number above 0; fallback NAN: the key must be there. */
double reading_number(struct reading *reading, const json_t *object, const char *key, double fallback);
bool reading_truth(struct reading *reading, const json_t *object, const char *key, bool fallback);

/* Refuses a value of object that is neither null nor equal to harmless (JSON text). */
void reading_unsupported(struct reading *reading, const json_t *object, const char *key, const char *harmless);

/* hfrope.c: theta and scaling into shape, whose positions are known. */
void reading_rope(struct reading *reading, struct model_shape *shape);

#endif
