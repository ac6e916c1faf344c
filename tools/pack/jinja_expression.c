/* jinja_expression.c: expressions of a template from its tokens. From loose to tight: if-else, or, and, not, comparisons, + -, ~, * / // %,
 * **, signs, then attributes, calls, filters and tests. */
#include "tools/pack/jinja_parse.h"

static const struct node *parse_filtered(struct parser *parser, const struct node *input);

static struct node *node_with(struct parser *parser, enum node_kind kind, const struct node *a, const struct node *b)
{
    struct node *node = node_new(parser, kind);
    if (a != NULL)
        node->line = a->line;
    node->a = a;
    node->b = b;
    return node;
}

/* (a, b, name=c); the parser stands behind the bracket. */
static const struct node *parse_arguments(struct parser *parser)
{
    struct node *first = NULL, **end = &first;
    bool named = false;
    while (!parse_at(parser, TOKEN_SIGN, ")")) {
        if (first != NULL) {
            parse_expect(parser, TOKEN_SIGN, ",");
            if (parse_at(parser, TOKEN_SIGN, ")"))
                break;
        }
        if (parse_at(parser, TOKEN_SIGN, "*") || parse_at(parser, TOKEN_SIGN, "**"))
            parse_fail(parser, "an argument (lists of arguments are not supported)");
        struct node *argument = node_new(parser, NODE_ARGUMENT);
        if (parser->token->kind == TOKEN_NAME && parser->token[1].kind == TOKEN_SIGN && strcmp(parser->token[1].text, "=") == 0) {
            argument->name = parse_name(parser);
            parser->token++;
            named = true;
        } else if (named) {
            parse_fail(parser, "a named argument");
        }
        argument->a = parse_expression(parser);
        *end = argument;
        end = (struct node **)&argument->next;
    }
    parser->token++;
    return first;
}

static const struct node *parse_dict(struct parser *parser)
{
    struct node *dict = node_new(parser, NODE_DICT), **end = (struct node **)&dict->list;
    while (!parse_at(parser, TOKEN_SIGN, "}")) {
        if (dict->list != NULL) {
            parse_expect(parser, TOKEN_SIGN, ",");
            if (parse_at(parser, TOKEN_SIGN, "}"))
                break;
        }
        struct node *pair = node_new(parser, NODE_ARGUMENT);
        pair->b = parse_expression(parser);
        parse_expect(parser, TOKEN_SIGN, ":");
        pair->a = parse_expression(parser);
        *end = pair;
        end = (struct node **)&pair->next;
    }
    parser->token++;
    return dict;
}

/* a, b, c up to end, behind which the parser then stands. At one item without a comma, that item itself if single is set. */
static const struct node *parse_items(struct parser *parser, enum node_kind kind, const char *close, bool single)
{
    struct node *node = node_new(parser, kind), **end = (struct node **)&node->list;
    bool comma = false;
    while (!parse_at(parser, TOKEN_SIGN, close)) {
        if (node->list != NULL) {
            parse_expect(parser, TOKEN_SIGN, ",");
            comma = true;
            if (parse_at(parser, TOKEN_SIGN, close))
                break;
        }
        struct node *item = node_with(parser, NODE_ARGUMENT, parse_expression(parser), NULL);
        *end = item;
        end = (struct node **)&item->next;
    }
    parser->token++;
    return single && node->list != NULL && !comma ? node->list->a : node;
}

static const struct node *parse_string(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_CONSTANT);
    size_t length = 0;
    for (const struct token *token = parser->token; token->kind == TOKEN_STRING; token++)
        length += token->length;
    char *bytes = pool_take(parser->pool, length + 1);
    size_t used = 0;
    for (; parser->token->kind == TOKEN_STRING; parser->token++) {
        memcpy(bytes + used, parser->token->text, parser->token->length);
        used += parser->token->length;
    }
    node->constant = value_text(parser->pool, bytes, used);
    return node;
}

static const struct node *parse_primary(struct parser *parser)
{
    static const struct {
        const char *name;
        struct value value;
    } constants[] = {
        { "true", { .kind = VALUE_BOOL, .truth = true } },
        { "True", { .kind = VALUE_BOOL, .truth = true } },
        { "false", { .kind = VALUE_BOOL, .truth = false } },
        { "False", { .kind = VALUE_BOOL, .truth = false } },
        { "none", { .kind = VALUE_NONE } },
        { "None", { .kind = VALUE_NONE } },
    };
    struct node *node = node_new(parser, NODE_CONSTANT);
    if (parser->token->kind == TOKEN_NAME) {
        node->name = parse_name(parser);
        for (int i = 0; i < ELEMENTS_OF(constants); i++)
            if (strcmp(node->name, constants[i].name) == 0) {
                node->constant = constants[i].value;
                return node;
            }
        node->kind = NODE_NAME;
        return node;
    }
    if (parser->token->kind == TOKEN_STRING)
        return parse_string(parser);
    if (parser->token->kind == TOKEN_NUMBER) {
        node->constant = parser->token++->number;
        return node;
    }
    if (parse_skip(parser, TOKEN_SIGN, "("))
        return parse_items(parser, NODE_TUPLE, ")", true);
    if (parse_skip(parser, TOKEN_SIGN, "["))
        return parse_items(parser, NODE_LIST, "]", false);
    if (parse_skip(parser, TOKEN_SIGN, "{"))
        return parse_dict(parser);
    parse_fail(parser, "an expression");
}

/* Behind "[". */
static const struct node *parse_item(struct parser *parser, const struct node *of)
{
    const struct node *part[3] = { NULL };
    int parts = 0;
    bool slice = false;
    while (!parse_at(parser, TOKEN_SIGN, "]")) {
        if (parse_skip(parser, TOKEN_SIGN, ":")) {
            slice = true;
            if (++parts == 3)
                parse_fail(parser, "\"]\"");
        } else if (part[parts] == NULL) {
            part[parts] = parse_expression(parser);
        } else {
            parse_fail(parser, "\"]\"");
        }
    }
    parser->token++;
    struct node *node = node_with(parser, slice ? NODE_SLICE : NODE_ITEM, of, part[0]);
    node->c = part[1];
    node->other = part[2];
    if (!slice && part[0] == NULL)
        parse_fail(parser, "a key between \"[\" and \"]\"");
    return node;
}

static const struct node *parse_postfix(struct parser *parser, const struct node *of)
{
    for (;;) {
        struct node *node;
        if (parse_skip(parser, TOKEN_SIGN, ".")) {
            if (parser->token->kind == TOKEN_NUMBER) {
                struct node *key = node_new(parser, NODE_CONSTANT);
                key->constant = parser->token++->number;
                node = node_with(parser, NODE_ITEM, of, key);
            } else {
                node = node_with(parser, NODE_ATTRIBUTE, of, NULL);
                node->name = parse_name(parser);
            }
        } else if (parse_skip(parser, TOKEN_SIGN, "[")) {
            of = parse_item(parser, of);
            continue;
        } else if (parse_skip(parser, TOKEN_SIGN, "(")) {
            node = node_with(parser, NODE_CALL, of, NULL);
            node->args = parse_arguments(parser);
        } else {
            return of;
        }
        of = node;
    }
}

static const struct node *parse_test(struct parser *parser, const struct node *input)
{
    bool negated = parse_skip(parser, TOKEN_NAME, "not");
    struct node *node = node_with(parser, NODE_TEST, input, NULL);
    parser->fault->line = parser->token->line;
    node->name = parse_name(parser);
    if (!test_known(node->name))
        fault_raise(parser->fault, "the test \"%s\" is not known", node->name);
    enum token_kind kind = parser->token->kind;
    bool ends = parse_at(parser, TOKEN_NAME, "else") || parse_at(parser, TOKEN_NAME, "or") || parse_at(parser, TOKEN_NAME, "and") ||
                parse_at(parser, TOKEN_NAME, "is") || parse_at(parser, TOKEN_NAME, "if");
    if (parse_skip(parser, TOKEN_SIGN, "(")) {
        node->args = parse_arguments(parser);
    } else if (!ends && (kind == TOKEN_NAME || kind == TOKEN_STRING || kind == TOKEN_NUMBER || parse_at(parser, TOKEN_SIGN, "[") ||
                         parse_at(parser, TOKEN_SIGN, "{"))) {
        const struct node *only = parse_primary(parser);
        node->args = node_with(parser, NODE_ARGUMENT, parse_postfix(parser, only), NULL);
    }
    return negated ? node_with(parser, NODE_NOT, node, NULL) : node;
}

static const struct node *parse_filter(struct parser *parser, const struct node *input)
{
    struct node *node = node_with(parser, NODE_FILTER, input, NULL);
    parser->fault->line = node->line = parser->token->line;
    node->name = parse_name(parser);
    if (!filter_known(node->name))
        fault_raise(parser->fault, "the filter \"%s\" is not known", node->name);
    if (parse_skip(parser, TOKEN_SIGN, "("))
        node->args = parse_arguments(parser);
    return node;
}

const struct node *parse_filters(struct parser *parser, const void *bare)
{
    const struct node *node = bare != NULL ? parse_filter(parser, NULL) : NULL;
    while (parse_skip(parser, TOKEN_SIGN, "|"))
        node = parse_filter(parser, node);
    return node;
}

static const struct node *parse_filtered(struct parser *parser, const struct node *input)
{
    for (;;) {
        if (parse_skip(parser, TOKEN_SIGN, "|")) {
            input = parse_filter(parser, input);
        } else if (parse_skip(parser, TOKEN_NAME, "is")) {
            input = parse_test(parser, input);
        } else if (parse_skip(parser, TOKEN_SIGN, "(")) {
            struct node *call = node_with(parser, NODE_CALL, input, NULL);
            call->args = parse_arguments(parser);
            input = call;
        } else {
            return input;
        }
    }
}

static const struct node *parse_signed(struct parser *parser, bool filters)
{
    const struct node *node;
    parse_deeper(parser);
    if (parse_skip(parser, TOKEN_SIGN, "-"))
        node = node_with(parser, NODE_NEGATE, parse_signed(parser, false), NULL);
    else if (parse_skip(parser, TOKEN_SIGN, "+"))
        node = parse_signed(parser, false);
    else
        node = parse_primary(parser);
    node = parse_postfix(parser, node);
    if (filters)
        node = parse_filtered(parser, node);
    parser->depth--;
    return node;
}

static const struct node *arithmetic_node(struct parser *parser, int operation, const struct node *a, const struct node *b)
{
    struct node *node = node_with(parser, NODE_ARITHMETIC, a, b);
    node->operation = operation;
    return node;
}

static const struct node *parse_power(struct parser *parser)
{
    const struct node *left = parse_signed(parser, true);
    while (parse_skip(parser, TOKEN_SIGN, "**"))
        left = arithmetic_node(parser, OPERATION_POWER, left, parse_signed(parser, true));
    return left;
}

static const struct node *parse_product(struct parser *parser)
{
    const struct node *left = parse_power(parser);
    for (;;) {
        if (parse_skip(parser, TOKEN_SIGN, "*"))
            left = arithmetic_node(parser, OPERATION_MULTIPLY, left, parse_power(parser));
        else if (parse_skip(parser, TOKEN_SIGN, "/"))
            left = arithmetic_node(parser, OPERATION_DIVIDE, left, parse_power(parser));
        else if (parse_skip(parser, TOKEN_SIGN, "//"))
            left = arithmetic_node(parser, OPERATION_WHOLE_DIVIDE, left, parse_power(parser));
        else if (parse_skip(parser, TOKEN_SIGN, "%"))
            left = arithmetic_node(parser, OPERATION_REMAINDER, left, parse_power(parser));
        else
            return left;
    }
}

static const struct node *parse_joined(struct parser *parser)
{
    const struct node *left = parse_product(parser);
    while (parse_skip(parser, TOKEN_SIGN, "~"))
        left = node_with(parser, NODE_JOIN, left, parse_product(parser));
    return left;
}

static const struct node *parse_sum(struct parser *parser)
{
    const struct node *left = parse_joined(parser);
    for (;;) {
        if (parse_skip(parser, TOKEN_SIGN, "+"))
            left = arithmetic_node(parser, OPERATION_ADD, left, parse_joined(parser));
        else if (parse_skip(parser, TOKEN_SIGN, "-"))
            left = arithmetic_node(parser, OPERATION_SUBTRACT, left, parse_joined(parser));
        else
            return left;
    }
}

static const struct node *parse_comparison(struct parser *parser)
{
    static const char *const signs[] = { "==", "!=", "<", "<=", ">", ">=" };
    const struct node *first = parse_sum(parser);
    struct node *compare = NULL, **end = NULL;
    for (;;) {
        int operation = -1;
        for (int i = 0; i < ELEMENTS_OF(signs) && operation < 0; i++)
            if (parse_skip(parser, TOKEN_SIGN, signs[i]))
                operation = i;
        if (operation < 0 && parse_skip(parser, TOKEN_NAME, "in"))
            operation = COMPARE_IN;
        if (operation < 0 && parse_at(parser, TOKEN_NAME, "not") && parser->token[1].kind == TOKEN_NAME &&
            strcmp(parser->token[1].text, "in") == 0) {
            parser->token += 2;
            operation = COMPARE_NOT_IN;
        }
        if (operation < 0)
            return compare != NULL ? compare : first;
        if (compare == NULL) {
            compare = node_with(parser, NODE_COMPARE, first, NULL);
            end = (struct node **)&compare->list;
        }
        struct node *right = node_with(parser, NODE_ARGUMENT, parse_sum(parser), NULL);
        right->operation = operation;
        *end = right;
        end = (struct node **)&right->next;
    }
}

static const struct node *parse_not(struct parser *parser)
{
    if (!parse_skip(parser, TOKEN_NAME, "not"))
        return parse_comparison(parser);
    parse_deeper(parser);
    const struct node *node = node_with(parser, NODE_NOT, parse_not(parser), NULL);
    parser->depth--;
    return node;
}

static const struct node *parse_and(struct parser *parser)
{
    const struct node *left = parse_not(parser);
    while (parse_skip(parser, TOKEN_NAME, "and"))
        left = node_with(parser, NODE_AND, left, parse_not(parser));
    return left;
}

static const struct node *parse_or(struct parser *parser)
{
    const struct node *left = parse_and(parser);
    while (parse_skip(parser, TOKEN_NAME, "or"))
        left = node_with(parser, NODE_OR, left, parse_and(parser));
    return left;
}

const struct node *parse_expression(struct parser *parser)
{
    parse_deeper(parser);
    const struct node *node = parse_or(parser);
    while (parse_skip(parser, TOKEN_NAME, "if")) {
        struct node *choice = node_with(parser, NODE_CHOICE, parse_or(parser), node);
        if (parse_skip(parser, TOKEN_NAME, "else"))
            choice->c = parse_expression(parser);
        node = choice;
    }
    parser->depth--;
    return node;
}

const struct node *parse_tuple(struct parser *parser, bool choices)
{
    const struct node *first = choices ? parse_expression(parser) : parse_or(parser);
    if (!parse_at(parser, TOKEN_SIGN, ","))
        return first;
    struct node *tuple = node_new(parser, NODE_TUPLE), **end = (struct node **)&tuple->list;
    for (const struct node *item = first;; item = choices ? parse_expression(parser) : parse_or(parser)) {
        struct node *entry = node_with(parser, NODE_ARGUMENT, item, NULL);
        *end = entry;
        end = (struct node **)&entry->next;
        if (!parse_skip(parser, TOKEN_SIGN, ",") || parser->token->kind == TOKEN_TAG_END || parser->token->kind == TOKEN_SHOW_END)
            return tuple;
    }
}
