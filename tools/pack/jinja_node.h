/* jinja_node.h: a parsed template: tokens and nodes; inside of jinja_*.c only. */
#ifndef TOOLS_PACK_JINJA_NODE_H
#define TOOLS_PACK_JINJA_NODE_H

#include "tools/pack/jinja_value.h"

/* ---- tokens ---- */

enum token_kind {
    TOKEN_DATA,
    TOKEN_SHOW,
    TOKEN_SHOW_END,
    TOKEN_TAG,
    TOKEN_TAG_END,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_NUMBER,
    TOKEN_SIGN,
    TOKEN_END
};
struct token {
    enum token_kind kind;
    int line;
    const char *text; /* of data, names, strings, signs; NUL behind it */
    size_t length;
    struct value number;
};
/* Cuts source into tokens, the last of which is TOKEN_END. Raises what is wrong. */
const struct token *jinja_tokens(struct pool *pool, struct fault *fault, const char *source, size_t bytes);

/* ---- nodes ---- */

enum node_kind {
    /* statements */
    NODE_DATA,
    NODE_SHOW,
    NODE_IF,
    NODE_FOR,
    NODE_SET,
    NODE_SET_BLOCK,
    NODE_MACRO,
    NODE_CALL_BLOCK,
    NODE_FILTER_BLOCK,
    NODE_WITH,
    NODE_GENERATION,
    NODE_BREAK,
    NODE_CONTINUE,
    /* expressions */
    NODE_CONSTANT,
    NODE_NAME,
    NODE_LIST,
    NODE_TUPLE,
    NODE_DICT,
    NODE_ATTRIBUTE,
    NODE_ITEM,
    NODE_SLICE,
    NODE_CALL,
    NODE_FILTER,
    NODE_TEST,
    NODE_NOT,
    NODE_NEGATE,
    NODE_AND,
    NODE_OR,
    NODE_ARITHMETIC,
    NODE_JOIN,
    NODE_COMPARE,
    NODE_CHOICE,
    NODE_ARGUMENT,
    NODE_TARGET_ATTRIBUTE
};
enum operation {
    OPERATION_ADD,
    OPERATION_SUBTRACT,
    OPERATION_MULTIPLY,
    OPERATION_DIVIDE,
    OPERATION_WHOLE_DIVIDE,
    OPERATION_REMAINDER,
    OPERATION_POWER
};
enum comparison {
    COMPARE_EQUAL,
    COMPARE_UNEQUAL,
    COMPARE_LESS,
    COMPARE_LESS_EQUAL,
    COMPARE_GREATER,
    COMPARE_GREATER_EQUAL,
    COMPARE_IN,
    COMPARE_NOT_IN
};

/* What a, b, c and list are depends on kind:
 *   IF         a condition, list body, c else (a list; an elif is an IF of its own)      FOR    a target, b items, c if, list body, other else
 *   SET        a target, b value         SET_BLOCK a target, b filters on the body, list body
 *   MACRO      name, args (ARGUMENT: name, a default), list body        CALL_BLOCK  a call, args, list body
 *   FILTER_BLOCK  b filters, list body   WITH  args (ARGUMENT: name, a value), list body
 *   CALL       a callee, args            FILTER, TEST  a input (NULL: the body of a block), name, args
 *   DICT       list of ARGUMENT: b key, a value                         SLICE  a of, b begin, c end, other step
 *   COMPARE    a first, list of ARGUMENT: operation, a right-hand side  CHOICE a condition, b then, c else
 *   TARGET_ATTRIBUTE  name . word */
struct node {
    enum node_kind kind;
    int line, operation;
    const struct node *a, *b, *c, *other, *list, *args, *next;
    const char *name, *word;
    struct value constant;
};

struct jinja {
    struct pool pool;
    const char *name;
    const struct node *body;
    const struct token *tokens;
};

/* Parses tokens. Raises what is wrong. */
const struct node *jinja_parse(struct pool *pool, struct fault *fault, const struct token *tokens);

#endif
