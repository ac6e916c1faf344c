/* jinja.h: chat templates: the Jinja language as Hugging Face templates use it. Build host, any thread.
 *
 * A template is parsed once and rendered for each conversation. The dialect is that of transformers: trim_blocks, lstrip_blocks, loop
 * controls, {% generation %}, tojson without ASCII escapes; sandboxed (no list or mapping can be changed). What is not known, a filter or a
 * test, is an error of the template with its line, also where it would never be reached.
 * (1) Every byte of the rendered text knows where it came from: the template, or a part of a message. Slices, strips, splits, joins
 *     and filters keep that. Who said what is therefore known by position and never by searching for text.
 * (2) A template can neither run nor grow without end: steps, depth and memory of one rendering are limited.
 * (3) Nothing depends on the clock: strftime_now gives the date of its caller's choice. */
#ifndef TOOLS_PACK_JINJA_H
#define TOOLS_PACK_JINJA_H

#include "tools/pack/memory.h"

#include <jansson.h>

/* ---- where text comes from ---- */

/* An origin is 0 for the template itself, else message * ORIGIN_PARTS + part, messages counted from 1; tool definitions are of
 * message 0. The last four are marks: they stand between bytes and have none themselves. */
enum origin_part {
    ORIGIN_TEMPLATE,
    ORIGIN_CONTENT,          /* what a message says is in three fields: content, */
    ORIGIN_THOUGHT,          /* reasoning_content, */
    ORIGIN_CALL,             /* and tool_calls */
    ORIGIN_ROLE,             /* role and all other fields */
    ORIGIN_TOOLS,            /* the tools' definitions */
    ORIGIN_BEGIN,            /* mark: a loop took up the message, */
    ORIGIN_END,              /* and went on to the next */
    ORIGIN_GENERATION_BEGIN, /* mark: {% generation %}, of message 0, */
    ORIGIN_GENERATION_END,   /* and its end */
    ORIGIN_PARTS
};
#define ORIGIN(message, part)  ((uint32_t)(message)*ORIGIN_PARTS + (part))
#define ORIGIN_MESSAGE(origin) ((origin) / ORIGIN_PARTS)
#define ORIGIN_PART(origin)    ((enum origin_part)((origin) % ORIGIN_PARTS))

/* From byte begin to the next run's begin all bytes have one origin; a run without bytes says that an empty text stood there. */
struct run {
    uint32_t begin, origin;
};
struct text {
    const char *bytes;
    uint32_t length;
    uint32_t runs;         /* 0: all from the template */
    const struct run *run; /* begin rises (not always strictly); the first is 0 */
};

/* The origin of the byte there; of marks and empty runs before it none counts. */
uint32_t text_origin(const struct text *text, size_t byte);

/* ---- templates ---- */

struct dict;
struct jinja;

struct jinja_error {
    int line; /* of the template, from 1 */
    char text[256];
};

/* Parses source. name is for messages and is kept. Returns OK, or E_DATA after saying "name line n: what". */
MUST_USE enum status jinja_open(struct jinja **jinja, const char *name, const char *source, size_t bytes);
void jinja_close(struct jinja *jinja);
/* True if the template's source holds {% generation %}, or the name anywhere outside its plain text. */
bool jinja_marks_generation(const struct jinja *jinja);
bool jinja_names(const struct jinja *jinja, const char *name);

/* Variables of one rendering, and its memory. */
struct jinja_scope {
    struct pool *pool;
    struct dict *variables;
    const char *date; /* what strftime_now gives, as "26 Jul 2024"; the format it is asked for must be "%d %b %Y" or its parts */
};
void jinja_scope_open(struct jinja_scope *scope, struct pool *pool);
/* Sets a variable to a copy of json. Strings carry origin; with messages true, json is the list of messages, and each one's fields carry
 * the message's own origins. */
void jinja_set(struct jinja_scope *scope, const char *name, const json_t *json, uint32_t origin, bool messages);

/* Renders into text, which lives in the scope's pool. Returns true, or false with error filled: what raise_exception said, or what is wrong. */
bool jinja_render(const struct jinja *jinja, struct jinja_scope *scope, struct text *text, struct jinja_error *error);

#endif
