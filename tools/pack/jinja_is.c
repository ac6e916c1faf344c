/* jinja_is.c: the tests behind "is"; names and results are Jinja's. */
#include "tools/pack/jinja_node.h"

static const char *const names[] = { "defined",     "undefined", "none",    "string",   "number",   "integer",  "float", "boolean",
                                     "true",        "false",     "mapping", "iterable", "sequence", "callable", "odd",   "even",
                                     "divisibleby", "sameas",    "lower",   "upper",    "in",       "equalto",  "eq",    "==",
                                     "ne",          "!=",        "lt",      "lessthan", "<",        "le",       "<=",    "gt",
                                     "greaterthan", ">",         "ge",      ">=" };

bool test_known(const char *name)
{
    for (int i = 0; i < ELEMENTS_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Tests that ask for a kind; -1: not one of them. */
static int test_kind(const char *name, struct value input)
{
    const struct {
        const char *name;
        bool holds;
    } kinds[] = {
        { "defined", input.kind != VALUE_UNDEFINED },
        { "undefined", input.kind == VALUE_UNDEFINED },
        { "none", input.kind == VALUE_NONE },
        { "string", input.kind == VALUE_TEXT },
        { "number", input.kind == VALUE_INT || input.kind == VALUE_FLOAT || input.kind == VALUE_BOOL },
        { "integer", input.kind == VALUE_INT },
        { "float", input.kind == VALUE_FLOAT },
        { "boolean", input.kind == VALUE_BOOL },
        { "true", input.kind == VALUE_BOOL && input.truth },
        { "false", input.kind == VALUE_BOOL && !input.truth },
        { "mapping", input.kind == VALUE_DICT },
        { "iterable", input.kind == VALUE_TEXT || input.kind == VALUE_LIST || input.kind == VALUE_DICT || input.kind == VALUE_UNDEFINED },
        { "sequence", input.kind == VALUE_TEXT || input.kind == VALUE_LIST || input.kind == VALUE_DICT || input.kind == VALUE_UNDEFINED },
        { "callable", input.kind == VALUE_FUNCTION || input.kind == VALUE_METHOD || input.kind == VALUE_MACRO },
    };
    for (int i = 0; i < ELEMENTS_OF(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].holds;
    return -1;
}

/* Tests that compare with their argument; -1: not one of them. */
static int test_order(const char *name)
{
    static const struct {
        const char *name;
        int operation;
    } orders[] = {
        { "in", COMPARE_IN },      { "equalto", COMPARE_EQUAL },       { "eq", COMPARE_EQUAL },         { "==", COMPARE_EQUAL },
        { "ne", COMPARE_UNEQUAL }, { "!=", COMPARE_UNEQUAL },          { "lt", COMPARE_LESS },          { "lessthan", COMPARE_LESS },
        { "<", COMPARE_LESS },     { "le", COMPARE_LESS_EQUAL },       { "<=", COMPARE_LESS_EQUAL },    { "gt", COMPARE_GREATER },
        { ">", COMPARE_GREATER },  { "greaterthan", COMPARE_GREATER }, { "ge", COMPARE_GREATER_EQUAL }, { ">=", COMPARE_GREATER_EQUAL },
    };
    for (int i = 0; i < ELEMENTS_OF(orders); i++)
        if (strcmp(orders[i].name, name) == 0)
            return orders[i].operation;
    return -1;
}

static bool same(struct value a, struct value b)
{
    return a.kind == b.kind && value_equal(a, b);
}

bool test_call(struct machine *machine, const char *name, struct value input, const struct arguments *arguments)
{
    int kind = test_kind(name, input), order = test_order(name);
    bool unary =
        kind >= 0 || strcmp(name, "odd") == 0 || strcmp(name, "even") == 0 || strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0;
    arguments_check(&machine->fault, arguments, name, unary ? 0 : 1, "other");
    if (kind >= 0)
        return kind != 0;
    const struct value *other = argument_find(arguments, 0, "other");
    if (!unary && other == NULL)
        fault_raise(&machine->fault, "the test \"%s\" needs a value to compare with", name);
    if (order >= 0)
        return compare_values(machine, order, input, *other);
    if (strcmp(name, "sameas") == 0)
        return same(input, *other);
    if (strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0) {
        const struct method method = { input, name[0] == 'l' ? "islower" : "isupper" };
        if (input.kind != VALUE_TEXT)
            fault_raise(&machine->fault, "the test \"%s\" needs a str", name);
        struct value holds = method_call(machine, &method, arguments);
        return value_truth(&holds);
    }
    struct value rest = arithmetic(machine, OPERATION_REMAINDER, input, other != NULL ? *other : value_int(2));
    return value_equal(rest, value_int(strcmp(name, "odd") == 0));
}
