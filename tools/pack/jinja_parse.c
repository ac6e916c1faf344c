/* jinja_parse.c: statements of a template from its tokens; expressions are in jinja_expression.c.
 *
 * (1) Filters and tests are known when the parser has passed: an unknown one is found before any conversation is rendered.
 * (2) Depth is limited, so that no template can exhaust the stack. */
#include "tools/pack/jinja_parse.h"

static const struct node *parse_body(struct parser *parser, const char *const *ends);

struct node *node_new(struct parser *parser, enum node_kind kind)
{
    struct node *node = pool_take(parser->pool, sizeof *node);
    node->kind = kind;
    node->line = parser->token->line;
    return node;
}

_Noreturn void parse_fail(struct parser *parser, const char *wanted)
{
    static const char *const kinds[] = { "text", "{{", "}}", "{%", "%}", "", "a string", "a number", "", "the end of the template" };
    const struct token *token = parser->token;
    bool named = token->kind == TOKEN_NAME || token->kind == TOKEN_SIGN;
    parser->fault->line = token->line;
    fault_raise(parser->fault, "%s is expected, not %s%s%s", wanted, named ? "\"" : "", named ? token->text : kinds[token->kind],
                named ? "\"" : "");
}

bool parse_at(const struct parser *parser, enum token_kind kind, const char *text)
{
    return parser->token->kind == kind && strcmp(parser->token->text, text) == 0;
}

bool parse_skip(struct parser *parser, enum token_kind kind, const char *text)
{
    if (!parse_at(parser, kind, text))
        return false;
    parser->token++;
    return true;
}

void parse_expect(struct parser *parser, enum token_kind kind, const char *text)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\"", kind == TOKEN_TAG_END ? "%}" : kind == TOKEN_SHOW_END ? "}}" : text);
    if (!parse_skip(parser, kind, text))
        parse_fail(parser, wanted);
}

const char *parse_name(struct parser *parser)
{
    if (parser->token->kind != TOKEN_NAME)
        parse_fail(parser, "a name");
    return parser->token++->text;
}

void parse_deeper(struct parser *parser)
{
    if (++parser->depth > PARSE_DEPTH_MOST) {
        parser->fault->line = parser->token->line;
        fault_raise(parser->fault, "more than %d levels of nesting", PARSE_DEPTH_MOST);
    }
}

/* A name, name.attribute where a namespace may be meant, or several with commas between. */
static const struct node *parse_target(struct parser *parser, bool attributes)
{
    struct node *first = NULL, **end = &first, *tuple = NULL;
    int count = 0;
    bool bracket = parse_skip(parser, TOKEN_SIGN, "(");
    do {
        if (count > 0 && parser->token->kind != TOKEN_NAME)
            break;
        struct node *name = node_new(parser, NODE_NAME);
        name->name = parse_name(parser);
        if (attributes && parse_skip(parser, TOKEN_SIGN, ".")) {
            name->kind = NODE_TARGET_ATTRIBUTE;
            name->word = parse_name(parser);
        }
        *end = name;
        end = (struct node **)&name->next;
        count++;
    } while (parse_skip(parser, TOKEN_SIGN, ","));
    if (bracket)
        parse_expect(parser, TOKEN_SIGN, ")");
    if (count == 1)
        return first;
    tuple = node_new(parser, NODE_TUPLE);
    tuple->list = first;
    return tuple;
}

/* The ends of a body, as names of tags, with NULL behind them. */
#define ENDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct node *parse_block(struct parser *parser, const char *const *ends)
{
    parse_skip(parser, TOKEN_SIGN, ":");
    parse_expect(parser, TOKEN_TAG_END, "");
    return parse_body(parser, ends);
}

/* Takes the tag that ended a body when it is the only one possible. */
static const struct node *parse_block_to(struct parser *parser, const char *end)
{
    const struct node *body = parse_block(parser, ENDS(end));
    parser->token++;
    return body;
}

static struct node *parse_for(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_FOR);
    node->a = parse_target(parser, false);
    parse_expect(parser, TOKEN_NAME, "in");
    node->b = parse_tuple(parser, false);
    if (parse_skip(parser, TOKEN_NAME, "if"))
        node->c = parse_expression(parser);
    if (parse_at(parser, TOKEN_NAME, "recursive"))
        parse_fail(parser, "\"%}\" (recursive loops are not supported)");
    parser->loops++;
    node->list = parse_block(parser, ENDS("else", "endfor"));
    parser->loops--;
    if (!parse_skip(parser, TOKEN_NAME, "endfor")) {
        parser->token++;
        node->other = parse_block_to(parser, "endfor");
    }
    return node;
}

/* Behind "if" or "elif". */
static struct node *parse_if(struct parser *parser)
{
    parse_deeper(parser);
    struct node *node = node_new(parser, NODE_IF);
    node->a = parse_tuple(parser, false);
    node->list = parse_block(parser, ENDS("elif", "else", "endif"));
    if (parse_skip(parser, TOKEN_NAME, "elif")) {
        node->c = parse_if(parser);
    } else if (parse_skip(parser, TOKEN_NAME, "else")) {
        node->c = parse_block_to(parser, "endif");
    } else {
        parser->token++;
    }
    parser->depth--;
    return node;
}

static struct node *parse_set(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_SET);
    node->a = parse_target(parser, true);
    if (parse_skip(parser, TOKEN_SIGN, "=")) {
        node->b = parse_tuple(parser, true);
        return node;
    }
    node->kind = NODE_SET_BLOCK;
    node->b = parse_filters(parser, NULL);
    node->list = parse_block_to(parser, "endset");
    return node;
}

/* (a, b=1): names with their defaults; or, for {% with %}, name = value without brackets. */
static const struct node *parse_signature(struct parser *parser, bool with)
{
    struct node *first = NULL, **end = &first;
    bool defaults = false;
    if (!with)
        parse_expect(parser, TOKEN_SIGN, "(");
    while (with ? parser->token->kind != TOKEN_TAG_END : !parse_at(parser, TOKEN_SIGN, ")")) {
        if (first != NULL)
            parse_expect(parser, TOKEN_SIGN, ",");
        struct node *argument = node_new(parser, NODE_ARGUMENT);
        argument->name = parse_name(parser);
        if (parse_skip(parser, TOKEN_SIGN, "=")) {
            argument->a = parse_expression(parser);
            defaults = true;
        } else if (with || defaults) {
            parse_fail(parser, "\"=\"");
        }
        *end = argument;
        end = (struct node **)&argument->next;
    }
    if (!with)
        parse_expect(parser, TOKEN_SIGN, ")");
    return first;
}

static struct node *parse_macro(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_MACRO);
    node->name = parse_name(parser);
    node->args = parse_signature(parser, false);
    int loops = parser->loops;
    parser->loops = 0;
    node->list = parse_block_to(parser, "endmacro");
    parser->loops = loops;
    return node;
}

static struct node *parse_call_block(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_CALL_BLOCK);
    if (parse_at(parser, TOKEN_SIGN, "("))
        node->args = parse_signature(parser, false);
    node->a = parse_expression(parser);
    if (node->a->kind != NODE_CALL)
        parse_fail(parser, "a call");
    node->list = parse_block_to(parser, "endcall");
    return node;
}

static struct node *parse_filter_block(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_FILTER_BLOCK);
    node->b = parse_filters(parser, parser);
    node->list = parse_block_to(parser, "endfilter");
    return node;
}

static struct node *parse_with(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_WITH);
    node->args = parse_signature(parser, true);
    node->list = parse_block_to(parser, "endwith");
    return node;
}

static struct node *parse_generation(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_GENERATION);
    node->list = parse_block_to(parser, "endgeneration");
    return node;
}

static struct node *parse_leave(struct parser *parser, enum node_kind kind)
{
    if (parser->loops == 0)
        fault_raise(parser->fault, "%s outside of a loop", kind == NODE_BREAK ? "break" : "continue");
    return node_new(parser, kind);
}

static struct node *parse_statement(struct parser *parser)
{
    parser->fault->line = parser->token->line;
    const char *tag = parse_name(parser);
    if (strcmp(tag, "for") == 0)
        return parse_for(parser);
    if (strcmp(tag, "if") == 0)
        return parse_if(parser);
    if (strcmp(tag, "set") == 0)
        return parse_set(parser);
    if (strcmp(tag, "macro") == 0)
        return parse_macro(parser);
    if (strcmp(tag, "call") == 0)
        return parse_call_block(parser);
    if (strcmp(tag, "filter") == 0)
        return parse_filter_block(parser);
    if (strcmp(tag, "with") == 0)
        return parse_with(parser);
    if (strcmp(tag, "generation") == 0)
        return parse_generation(parser);
    if (strcmp(tag, "break") == 0)
        return parse_leave(parser, NODE_BREAK);
    if (strcmp(tag, "continue") == 0)
        return parse_leave(parser, NODE_CONTINUE);
    fault_raise(parser->fault, "the tag \"%s\" is not known here", tag);
}

/* Statements up to one of ends, at whose name the parser then stands; ends NULL: up to the end of the template. */
static const struct node *parse_body(struct parser *parser, const char *const *ends)
{
    struct node *first = NULL, **end = &first;
    int line = parser->token->line;
    parse_deeper(parser);
    for (;;) {
        struct node *node;
        if (parser->token->kind == TOKEN_END) {
            if (ends == NULL)
                break;
            while (ends[1] != NULL)
                ends++;
            parser->fault->line = line;
            fault_raise(parser->fault, "\"%s\" never comes", ends[0]);
        }
        if (parser->token->kind == TOKEN_DATA) {
            node = node_new(parser, NODE_DATA);
            node->constant = value_text(parser->pool, parser->token->text, parser->token->length);
            parser->token++;
        } else if (parser->token->kind == TOKEN_SHOW) {
            node = node_new(parser, NODE_SHOW);
            parser->token++;
            node->a = parse_tuple(parser, true);
            parse_expect(parser, TOKEN_SHOW_END, "");
        } else {
            parse_expect(parser, TOKEN_TAG, "");
            bool ended = false;
            for (const char *const *name = ends; name != NULL && *name != NULL && !ended; name++)
                ended = parse_at(parser, TOKEN_NAME, *name);
            if (ended)
                break;
            node = parse_statement(parser);
            parse_expect(parser, TOKEN_TAG_END, "");
        }
        *end = node;
        end = (struct node **)&node->next;
    }
    parser->depth--;
    return first;
}

const struct node *jinja_parse(struct pool *pool, struct fault *fault, const struct token *tokens)
{
    struct parser parser = { .pool = pool, .fault = fault, .token = tokens };
    return parse_body(&parser, NULL);
}
