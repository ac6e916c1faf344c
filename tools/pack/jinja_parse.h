/* jinja_parse.h: what jinja_parse.c (statements) and jinja_expression.c share. */
#ifndef TOOLS_PACK_JINJA_PARSE_H
#define TOOLS_PACK_JINJA_PARSE_H

#include "tools/pack/jinja_node.h"

#include <stdio.h>

enum { PARSE_DEPTH_MOST = 200 };

struct parser {
    struct pool *pool;
    struct fault *fault;
    const struct token *token; /* the next one */
    int depth, loops;
};

struct node *node_new(struct parser *parser, enum node_kind kind);
_Noreturn void parse_fail(struct parser *parser, const char *wanted);
bool parse_at(const struct parser *parser, enum token_kind kind, const char *text);
bool parse_skip(struct parser *parser, enum token_kind kind, const char *text);
void parse_expect(struct parser *parser, enum token_kind kind, const char *text);
const char *parse_name(struct parser *parser);
void parse_deeper(struct parser *parser);

const struct node *parse_expression(struct parser *parser);
/* One expression, or a tuple where commas follow. choices: "a if b else c" may stand at its top. */
const struct node *parse_tuple(struct parser *parser, bool choices);
/* "|name(args)" as often as it comes, on input (NULL: what a block holds). bare: the first one has no "|" before it. */
const struct node *parse_filters(struct parser *parser, const void *bare);

#endif
