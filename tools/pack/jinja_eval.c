/* jinja_eval.c: what the expressions of a template come to; statements are in jinja_run.c.
 *
 * (1) Every call counts a step and a level, so that neither can go on without end. */
#include "tools/pack/jinja_run.h"

#include <stdio.h>

void machine_step(struct machine *machine)
{
    if (++machine->steps > STEPS_MOST)
        fault_raise(&machine->fault, "more than %d steps: the template does not end", STEPS_MOST);
}

static struct value evaluate_name(struct machine *machine, const char *name)
{
    for (const struct frame *frame = machine->frame; frame != NULL; frame = frame->outer) {
        const struct value *found = dict_find_word(frame->names, name);
        if (found != NULL)
            return *found;
    }
    if (function_known(name))
        return (struct value){ .kind = VALUE_FUNCTION, .name = name };
    return value_undefined(name);
}

static struct value evaluate_items(struct machine *machine, const struct node *node)
{
    int64_t count = 0;
    for (const struct node *item = node->list; item != NULL; item = item->next)
        count++;
    struct list *list = list_new(machine->pool, count);
    list->tuple = node->kind == NODE_TUPLE;
    count = 0;
    for (const struct node *item = node->list; item != NULL; item = item->next)
        list->item[count++] = evaluate_node(machine, item->a);
    return value_list(list);
}

static struct value evaluate_dict(struct machine *machine, const struct node *node)
{
    struct dict *dict = dict_new(machine->pool);
    for (const struct node *pair = node->list; pair != NULL; pair = pair->next) {
        struct value key = evaluate_node(machine, pair->b);
        dict_set(machine->pool, dict, key, evaluate_node(machine, pair->a));
    }
    return value_dict(dict);
}

struct arguments evaluate_arguments(struct machine *machine, const struct node *args)
{
    int count = 0;
    for (const struct node *arg = args; arg != NULL; arg = arg->next)
        count++;
    struct argument *argument = pool_take(machine->pool, (size_t)count * sizeof *argument);
    count = 0;
    for (const struct node *arg = args; arg != NULL; arg = arg->next)
        argument[count++] = (struct argument){ arg->name, evaluate_node(machine, arg->a) };
    return (struct arguments){ argument, count };
}

static bool contains(struct machine *machine, struct value part, struct value whole)
{
    if (whole.kind == VALUE_TEXT) {
        if (part.kind != VALUE_TEXT)
            fault_raise(&machine->fault, "'in' of a str needs a str, not '%s'", value_kind_name(&part));
        return text_find(whole.text, part.text, 0) >= 0;
    }
    if (whole.kind == VALUE_DICT)
        return dict_find(whole.dict, part) != NULL;
    const struct list *items = value_items(machine, whole);
    for (int64_t i = 0; i < items->count; i++)
        if (value_equal(items->item[i], part))
            return true;
    return false;
}

bool compare_values(struct machine *machine, int operation, struct value a, struct value b)
{
    switch (operation) {
    case COMPARE_EQUAL:
        return value_equal(a, b);
    case COMPARE_UNEQUAL:
        return !value_equal(a, b);
    case COMPARE_LESS:
        return value_compare(&machine->fault, a, b) < 0;
    case COMPARE_LESS_EQUAL:
        return value_compare(&machine->fault, a, b) <= 0;
    case COMPARE_GREATER:
        return value_compare(&machine->fault, a, b) > 0;
    case COMPARE_GREATER_EQUAL:
        return value_compare(&machine->fault, a, b) >= 0;
    case COMPARE_IN:
        return contains(machine, a, b);
    default:
        return !contains(machine, a, b);
    }
}

static struct value evaluate_comparison(struct machine *machine, const struct node *node)
{
    struct value left = evaluate_node(machine, node->a);
    for (const struct node *next = node->list; next != NULL; next = next->next) {
        struct value right = evaluate_node(machine, next->a);
        if (!compare_values(machine, next->operation, left, right))
            return value_bool(false);
        left = right;
    }
    return value_bool(true);
}

static struct value evaluate_join(struct machine *machine, const struct node *node)
{
    struct builder builder = builder_new(machine);
    print_value(&builder, evaluate_node(machine, node->a));
    print_value(&builder, evaluate_node(machine, node->b));
    return value_of_text(builder_done(&builder));
}

static struct value evaluate_negation(struct machine *machine, const struct node *node)
{
    struct value value = evaluate_node(machine, node->a);
    if (value.kind == VALUE_FLOAT)
        return value_float(-value.real);
    return arithmetic(machine, OPERATION_SUBTRACT, value_int(0), value);
}

static struct value evaluate_or_none(struct machine *machine, const struct node *node)
{
    return node != NULL ? evaluate_node(machine, node) : value_none();
}

static struct value evaluate_call(struct machine *machine, const struct node *node)
{
    struct value callee = evaluate_node(machine, node->a);
    struct arguments arguments = evaluate_arguments(machine, node->args);
    machine->fault.line = node->line;
    return call_value(machine, callee, &arguments);
}

static struct value evaluate_kind(struct machine *machine, const struct node *node)
{
    struct value left;
    struct arguments arguments;
    switch (node->kind) {
    case NODE_CONSTANT:
        return node->constant;
    case NODE_NAME:
        return evaluate_name(machine, node->name);
    case NODE_LIST:
    case NODE_TUPLE:
        return evaluate_items(machine, node);
    case NODE_DICT:
        return evaluate_dict(machine, node);
    case NODE_ATTRIBUTE:
        left = evaluate_node(machine, node->a);
        machine->fault.line = node->line;
        return attribute_get(machine, left, node->name);
    case NODE_ITEM:
        left = evaluate_node(machine, node->a);
        return item_get(machine, left, evaluate_node(machine, node->b));
    case NODE_SLICE:
        left = evaluate_node(machine, node->a);
        return slice_get(machine, left, evaluate_or_none(machine, node->b), evaluate_or_none(machine, node->c),
                         evaluate_or_none(machine, node->other));
    case NODE_CALL:
        return evaluate_call(machine, node);
    case NODE_FILTER:
        left = node->a != NULL ? evaluate_node(machine, node->a) : machine->filtered;
        arguments = evaluate_arguments(machine, node->args);
        machine->fault.line = node->line;
        return filter_call(machine, node->name, left, &arguments);
    case NODE_TEST:
        left = evaluate_node(machine, node->a);
        arguments = evaluate_arguments(machine, node->args);
        machine->fault.line = node->line;
        return value_bool(test_call(machine, node->name, left, &arguments));
    case NODE_NOT:
        left = evaluate_node(machine, node->a);
        return value_bool(!value_truth(&left));
    case NODE_NEGATE:
        return evaluate_negation(machine, node);
    case NODE_AND:
        left = evaluate_node(machine, node->a);
        return value_truth(&left) ? evaluate_node(machine, node->b) : left;
    case NODE_OR:
        left = evaluate_node(machine, node->a);
        return value_truth(&left) ? left : evaluate_node(machine, node->b);
    case NODE_ARITHMETIC:
        left = evaluate_node(machine, node->a);
        return arithmetic(machine, node->operation, left, evaluate_node(machine, node->b));
    case NODE_JOIN:
        return evaluate_join(machine, node);
    case NODE_COMPARE:
        return evaluate_comparison(machine, node);
    case NODE_CHOICE:
        left = evaluate_node(machine, node->a);
        if (value_truth(&left))
            return evaluate_node(machine, node->b);
        return node->c != NULL ? evaluate_node(machine, node->c) : value_undefined("the missing else");
    default:
        ASSERT(node->kind != node->kind);
        return value_none();
    }
}

struct value evaluate_node(struct machine *machine, const struct node *node)
{
    machine_step(machine);
    if (++machine->depth > DEPTH_MOST)
        fault_raise(&machine->fault, "more than %d levels of nesting", DEPTH_MOST);
    machine->fault.line = node->line;
    struct value value = evaluate_kind(machine, node);
    machine->depth--;
    return value;
}

struct value call_value(struct machine *machine, struct value callee, const struct arguments *arguments)
{
    switch (callee.kind) {
    case VALUE_FUNCTION:
        return function_call(machine, callee.name, arguments);
    case VALUE_METHOD:
        return method_call(machine, callee.method, arguments);
    case VALUE_MACRO:
        return macro_call(machine, callee.macro, arguments);
    case VALUE_UNDEFINED:
        fault_raise(&machine->fault, "'%s' is undefined and cannot be called", callee.name);
    default:
        fault_raise(&machine->fault, "'%s' object cannot be called", value_kind_name(&callee));
    }
}
