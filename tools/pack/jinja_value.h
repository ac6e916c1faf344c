/* jinja_value.h: the values of a rendering, and the machine that makes them; inside of jinja_*.c only.
 *
 * (1) Values are never changed once made, but for namespaces and builders; they live until their pool is reset.
 * (2) An error leaves by longjmp: everything lies in the pool, so nothing is lost by it. */
#ifndef TOOLS_PACK_JINJA_VALUE_H
#define TOOLS_PACK_JINJA_VALUE_H

#include "tools/pack/jinja.h"

#include <setjmp.h>
#include <string.h>

/* ---- errors ---- */

struct fault {
    jmp_buf leave;
    struct jinja_error *error;
    int line; /* where the machine or the parser is */
};
_Noreturn void fault_raise(struct fault *fault, const char *format, ...) PRINTF(2, 3);

/* ---- values ---- */

enum value_kind {
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_NAMESPACE,
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_METHOD,
    VALUE_FUNCTION
};
struct value {
    enum value_kind kind;
    union {
        const char *name; /* VALUE_UNDEFINED: what was looked for; VALUE_FUNCTION */
        bool truth;
        int64_t whole;
        double real;
        const struct text *text;
        const struct list *list;
        struct dict *dict; /* VALUE_DICT, VALUE_NAMESPACE */
        const struct loop *loop;
        const struct macro *macro;
        const struct method *method;
    };
};
struct list {
    struct value *item;
    int64_t count;
    bool tuple;
};
struct pair {
    struct value key, value;
};
struct dict {
    struct pair *pair;
    int64_t count, room;
    uint32_t message; /* from 1; 0: no message */
};
struct loop {
    const struct list *items;
    int64_t index; /* from 0 */
    int depth;
};
struct method {
    struct value self;
    const char *name;
};
struct node;
struct frame {
    struct frame *outer;
    struct dict *names;
};
struct macro {
    const struct node *node;
    struct frame *frame; /* where it was defined */
    bool caller;         /* body of {% call %} */
};

struct argument {
    const char *name; /* NULL: by position */
    struct value value;
};
struct arguments {
    const struct argument *argument;
    int count;
};

/* ---- the machine ---- */

struct builder {
    struct pool *pool;
    struct fault *fault;
    char *bytes;
    size_t length, room;
    struct run *run;
    size_t runs, runs_room;
};

struct machine {
    struct pool *pool;
    struct fault fault;
    struct frame *frame, *root;
    struct builder *out;
    struct value filtered; /* the body that a block's first filter takes */
    const char *date;
    int depth;
    int64_t steps;
};

/* ---- making values (jinja_value.c) ---- */

struct value value_none(void);
struct value value_undefined(const char *name);
struct value value_bool(bool truth);
struct value value_int(int64_t whole);
struct value value_float(double real);
struct value value_text(struct pool *pool, const char *bytes, size_t length);
struct value value_of_text(const struct text *text);
struct value value_word(struct pool *pool, const char *word); /* word's bytes are kept, not copied */
struct list *list_new(struct pool *pool, int64_t count);
struct value value_list(const struct list *list);
struct dict *dict_new(struct pool *pool);
void dict_set(struct pool *pool, struct dict *dict, struct value key, struct value value);
const struct value *dict_find(const struct dict *dict, struct value key); /* NULL if absent */
const struct value *dict_find_word(const struct dict *dict, const char *word);
struct value value_dict(struct dict *dict);

const char *value_kind_name(const struct value *value); /* as Python calls it */
bool value_truth(const struct value *value);
bool value_equal(struct value a, struct value b);
/* -1, 0, 1; raises if the two have no order. */
int value_compare(struct fault *fault, struct value a, struct value b);
/* The values that a loop over value meets: items, keys, characters. Raises if there is none. */
const struct list *value_items(struct machine *machine, struct value value);
int64_t value_length(struct fault *fault, struct value value);

/* ---- texts with origins (jinja_text.c) ---- */

void builder_text(struct builder *builder, const struct text *text);
void builder_bytes(struct builder *builder, const char *bytes, size_t length); /* of the template */
void builder_word(struct builder *builder, const char *word);
void builder_byte_as(struct builder *builder, const char *bytes, size_t length, uint32_t origin);
void builder_mark(struct builder *builder, uint32_t origin);
const struct text *builder_done(struct builder *builder);
struct builder builder_new(struct machine *machine);

const struct text *text_cut(struct pool *pool, const struct text *text, size_t begin, size_t end); /* bytes [begin, end) */
size_t text_characters(const struct text *text);
size_t text_byte_of(const struct text *text, size_t character);                   /* length if past the end */
size_t text_next(const struct text *text, size_t byte, int32_t *character);       /* byte behind the character at byte */
size_t text_before(const struct text *text, size_t byte, int32_t *character);     /* byte where the character before begins */
bool character_is_space(int32_t character);                                       /* as str.isspace */
int64_t text_find(const struct text *text, const struct text *part, size_t from); /* byte, or -1 */
bool text_at(const struct text *text, size_t byte, const struct text *part);
bool text_is(const struct text *text, const char *word);

/* ---- writing values (jinja_print.c) ---- */

void print_value(struct builder *builder, struct value value); /* as {{ }} does */
void print_repr(struct builder *builder, struct value value, int depth);
void print_json(struct machine *machine, struct builder *builder, struct value value, int indent, int depth, bool sorted, const char *comma,
                const char *colon);

/* ---- what names do (jinja_method.c, jinja_filter.c, jinja_is.c) ---- */

/* Argument number place (from 0) or by name; NULL if it was not given. */
const struct value *argument_find(const struct arguments *arguments, int place, const char *name);
/* Raises if an argument is left that none of names (in order of their places) stands for. what names the callee. */
void arguments_check(struct fault *fault, const struct arguments *arguments, const char *what, int most, ...);
const struct text *argument_text(struct machine *machine, const struct arguments *arguments, int place, const char *name, const char *what);
int64_t argument_int(struct machine *machine, const struct arguments *arguments, int place, const char *name, const char *what,
                     int64_t otherwise);

bool filter_known(const char *name);
struct value filter_call(struct machine *machine, const char *name, struct value input, const struct arguments *arguments);
bool test_known(const char *name);
bool test_call(struct machine *machine, const char *name, struct value input, const struct arguments *arguments);
/* value.name and value[key]; undefined where there is none. */
struct value attribute_get(struct machine *machine, struct value value, const char *name);
struct value item_get(struct machine *machine, struct value value, struct value key);
struct value slice_get(struct machine *machine, struct value value, struct value begin, struct value end, struct value step);
struct value method_call(struct machine *machine, const struct method *method, const struct arguments *arguments);
bool function_known(const char *name);
struct value function_call(struct machine *machine, const char *name, const struct arguments *arguments);
/* Text methods that filters share: strip with a set of characters, or white space if set is NULL. */
const struct text *text_strip(struct pool *pool, const struct text *text, const struct text *set, bool left, bool right);
const struct text *text_replace(struct machine *machine, const struct text *text, const struct text *old, const struct text *fresh,
                                int64_t most);
const struct text *text_case(struct machine *machine, const struct text *text, char how); /* U, L, T(itle), C(apitalize) */
struct value text_join(struct machine *machine, const struct text *between, const struct list *items, const char *attribute);

/* ---- evaluation (jinja_eval.c) ---- */

struct value call_value(struct machine *machine, struct value callee, const struct arguments *arguments);
bool compare_values(struct machine *machine, int operation, struct value a, struct value b); /* enum comparison */
void machine_step(struct machine *machine);
struct value arithmetic(struct machine *machine, int operation, struct value a, struct value b); /* jinja_value.c; enum in jinja_node.h */

#endif
