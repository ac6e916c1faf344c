/* jinja_run.c: plays the statements of a template; opens, closes and renders.
 *
 * (1) A loop's body has a frame of its own: what it sets ends with it. if has none. A macro sees what its place of definition sees.
 * (2) When a loop takes up a message, a mark goes into the text, and another when it leaves it: see chat.c. */
#include "tools/pack/jinja_run.h"

#include <stdlib.h>

/* One rendering may use this much and RENDER_TIMES its variables' bytes: real templates use a few times those. */
enum { RENDER_BYTES_MOST = 64 << 20, RENDER_TIMES = 32, TEMPLATE_BYTES_MOST = 1 << 20 };

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };
static enum flow play(struct machine *machine, const struct node *body);

static struct frame *frame_new(struct machine *machine, struct frame *outer)
{
    struct frame *frame = pool_take(machine->pool, sizeof *frame);
    frame->outer = outer;
    frame->names = dict_new(machine->pool);
    return frame;
}

static void name_set(struct machine *machine, const char *name, struct value value)
{
    dict_set(machine->pool, machine->frame->names, value_word(machine->pool, name), value);
}

static void assign_one(struct machine *machine, const struct node *target, struct value value)
{
    if (target->kind == NODE_NAME) {
        name_set(machine, target->name, value);
        return;
    }
    const struct value *space = NULL;
    for (const struct frame *frame = machine->frame; frame != NULL && space == NULL; frame = frame->outer)
        space = dict_find_word(frame->names, target->name);
    if (space == NULL || space->kind != VALUE_NAMESPACE)
        fault_raise(&machine->fault, "'%s' is no namespace: its attributes cannot be set", target->name);
    dict_set(machine->pool, space->dict, value_word(machine->pool, target->word), value);
}

static void assign(struct machine *machine, const struct node *target, struct value value)
{
    if (target->kind != NODE_TUPLE) {
        assign_one(machine, target, value);
        return;
    }
    const struct list *items = value_items(machine, value);
    int64_t i = 0;
    for (const struct node *name = target->list; name != NULL; name = name->next, i++) {
        if (i >= items->count)
            fault_raise(&machine->fault, "%lld values for more names", (long long)items->count);
        assign_one(machine, name, items->item[i]);
    }
    if (i < items->count)
        fault_raise(&machine->fault, "%lld values for %lld names", (long long)items->count, (long long)i);
}

/* What body writes, as a value of its own. */
static struct value captured(struct machine *machine, const struct node *body, enum flow *flow)
{
    struct builder builder = builder_new(machine), *outer = machine->out;
    machine->out = &builder;
    *flow = play(machine, body);
    machine->out = outer;
    return value_of_text(builder_done(&builder));
}

static struct value filtered(struct machine *machine, const struct node *filters, struct value value)
{
    if (filters == NULL)
        return value;
    struct value outer = machine->filtered;
    machine->filtered = value;
    value = evaluate_node(machine, filters);
    machine->filtered = outer;
    return value;
}

struct value macro_call(struct machine *machine, const struct macro *macro, const struct arguments *arguments)
{
    if (++machine->depth > DEPTH_MOST)
        fault_raise(&machine->fault, "more than %d levels of nesting", DEPTH_MOST);
    struct frame *outer = machine->frame;
    machine->frame = frame_new(machine, macro->frame);
    int place = 0, used = 0;
    for (const struct node *parameter = macro->node->args; parameter != NULL; parameter = parameter->next, place++) {
        const struct value *given = argument_find(arguments, place, parameter->name);
        used += given != NULL;
        if (given != NULL)
            name_set(machine, parameter->name, *given);
        else if (parameter->a != NULL)
            name_set(machine, parameter->name, evaluate_node(machine, parameter->a));
        else
            name_set(machine, parameter->name, value_undefined(parameter->name));
    }
    const struct value *caller = argument_find(arguments, -1, "caller");
    if (caller != NULL && !macro->caller)
        name_set(machine, "caller", *caller);
    if (used + (caller != NULL) < arguments->count)
        fault_raise(&machine->fault, "the macro '%s' takes %d arguments, not these %d",
                    macro->node->name != NULL ? macro->node->name : "caller", place, arguments->count);
    enum flow flow;
    struct value value = captured(machine, macro->node->list, &flow);
    machine->frame = outer;
    machine->depth--;
    return value;
}

static struct value macro_new(struct machine *machine, const struct node *node, bool caller)
{
    struct macro *macro = pool_take(machine->pool, sizeof *macro);
    *macro = (struct macro){ .node = node, .frame = machine->frame, .caller = caller };
    return (struct value){ .kind = VALUE_MACRO, .macro = macro };
}

static void play_call_block(struct machine *machine, const struct node *node)
{
    struct value callee = evaluate_node(machine, node->a->a);
    struct arguments given = evaluate_arguments(machine, node->a->args);
    struct argument *argument = pool_take(machine->pool, (size_t)(given.count + 1) * sizeof *argument);
    memcpy(argument, given.argument, (size_t)given.count * sizeof *argument);
    argument[given.count] = (struct argument){ "caller", macro_new(machine, node, true) };
    const struct arguments all = { argument, given.count + 1 };
    print_value(machine->out, call_value(machine, callee, &all));
}

/* The items of a loop that its condition lets through. */
static const struct list *loop_items(struct machine *machine, const struct node *node)
{
    const struct list *all = value_items(machine, evaluate_node(machine, node->b));
    if (node->c == NULL)
        return all;
    struct list *kept = list_new(machine->pool, all->count);
    kept->count = 0;
    struct frame *outer = machine->frame;
    for (int64_t i = 0; i < all->count; i++) {
        machine->frame = frame_new(machine, outer);
        assign(machine, node->a, all->item[i]);
        struct value keeps = evaluate_node(machine, node->c);
        if (value_truth(&keeps))
            kept->item[kept->count++] = all->item[i];
    }
    machine->frame = outer;
    return kept;
}

static enum flow play_for(struct machine *machine, const struct node *node)
{
    const struct list *items = loop_items(machine, node);
    struct frame *outer = machine->frame;
    const struct value *around = NULL;
    for (const struct frame *frame = outer; frame != NULL && around == NULL; frame = frame->outer)
        around = dict_find_word(frame->names, "loop");
    int depth = around != NULL && around->kind == VALUE_LOOP ? around->loop->depth + 1 : 1;
    for (int64_t i = 0; i < items->count; i++) {
        machine_step(machine);
        struct loop *loop = pool_take(machine->pool, sizeof *loop);
        *loop = (struct loop){ .items = items, .index = i, .depth = depth };
        machine->frame = frame_new(machine, outer);
        name_set(machine, "loop", (struct value){ .kind = VALUE_LOOP, .loop = loop });
        assign(machine, node->a, items->item[i]);
        uint32_t message = items->item[i].kind == VALUE_DICT ? items->item[i].dict->message : 0;
        if (message > 0)
            builder_mark(machine->out, ORIGIN(message, ORIGIN_BEGIN));
        enum flow flow = play(machine, node->list);
        if (message > 0)
            builder_mark(machine->out, ORIGIN(message, ORIGIN_END));
        machine->frame = outer;
        if (flow == FLOW_BREAK)
            break;
    }
    return items->count == 0 ? play(machine, node->other) : FLOW_ON;
}

static void play_with(struct machine *machine, const struct node *node, enum flow *flow)
{
    struct frame *outer = machine->frame, *inner = frame_new(machine, outer);
    for (const struct node *pair = node->args; pair != NULL; pair = pair->next)
        dict_set(machine->pool, inner->names, value_word(machine->pool, pair->name), evaluate_node(machine, pair->a));
    machine->frame = inner;
    *flow = play(machine, node->list);
    machine->frame = outer;
}

static enum flow play_one(struct machine *machine, const struct node *node)
{
    enum flow flow = FLOW_ON;
    struct value value;
    switch (node->kind) {
    case NODE_DATA:
        builder_text(machine->out, node->constant.text);
        break;
    case NODE_SHOW:
        print_value(machine->out, evaluate_node(machine, node->a));
        break;
    case NODE_IF:
        value = evaluate_node(machine, node->a);
        return play(machine, value_truth(&value) ? node->list : node->c);
    case NODE_FOR:
        return play_for(machine, node);
    case NODE_SET:
        assign(machine, node->a, evaluate_node(machine, node->b));
        break;
    case NODE_SET_BLOCK:
        value = captured(machine, node->list, &flow);
        assign(machine, node->a, filtered(machine, node->b, value));
        break;
    case NODE_MACRO:
        name_set(machine, node->name, macro_new(machine, node, false));
        break;
    case NODE_CALL_BLOCK:
        play_call_block(machine, node);
        break;
    case NODE_FILTER_BLOCK:
        value = captured(machine, node->list, &flow);
        print_value(machine->out, filtered(machine, node->b, value));
        break;
    case NODE_WITH:
        play_with(machine, node, &flow);
        break;
    case NODE_GENERATION:
        builder_mark(machine->out, ORIGIN(0, ORIGIN_GENERATION_BEGIN));
        flow = play(machine, node->list);
        builder_mark(machine->out, ORIGIN(0, ORIGIN_GENERATION_END));
        break;
    case NODE_BREAK:
        return FLOW_BREAK;
    default:
        ASSERT(node->kind == NODE_CONTINUE);
        return FLOW_CONTINUE;
    }
    return flow;
}

static enum flow play(struct machine *machine, const struct node *body)
{
    if (++machine->depth > DEPTH_MOST)
        fault_raise(&machine->fault, "more than %d levels of nesting", DEPTH_MOST);
    enum flow flow = FLOW_ON;
    for (const struct node *node = body; node != NULL && flow == FLOW_ON; node = node->next) {
        machine_step(machine);
        machine->fault.line = node->line;
        flow = play_one(machine, node);
    }
    machine->depth--;
    return flow;
}

/* ---- opening and rendering ---- */

static void pool_is_full(void *argument)
{
    struct fault *fault = argument;
    fault_raise(fault, "needs more memory than a template may take");
}

enum status jinja_open(struct jinja **opened, const char *name, const char *source, size_t bytes)
{
    if (bytes > TEMPLATE_BYTES_MOST)
        return fail(E_DATA, "%s: a template of %zu bytes; at most %d are read", name, bytes, TEMPLATE_BYTES_MOST);
    struct jinja *jinja = memory_take(sizeof *jinja);
    struct jinja_error error = { 0 };
    struct fault fault = { .error = &error, .line = 1 };
    *jinja = (struct jinja){ .name = name, .pool = { .limit_bytes = RENDER_BYTES_MOST, .full = pool_is_full, .argument = &fault } };
    *opened = jinja;
    if (setjmp(fault.leave) != 0) {
        enum status status = fail(E_DATA, "%s line %d: %s", name, error.line, error.text);
        jinja_close(*opened);
        *opened = NULL;
        return status;
    }
    jinja->tokens = jinja_tokens(&jinja->pool, &fault, source, bytes);
    jinja->body = jinja_parse(&jinja->pool, &fault, jinja->tokens);
    return OK;
}

void jinja_close(struct jinja *jinja)
{
    if (jinja == NULL)
        return;
    pool_close(&jinja->pool);
    free(jinja);
}

bool jinja_names(const struct jinja *jinja, const char *name)
{
    for (const struct token *token = jinja->tokens; token->kind != TOKEN_END; token++)
        if ((token->kind == TOKEN_NAME || token->kind == TOKEN_STRING) && strcmp(token->text, name) == 0)
            return true;
    return false;
}

bool jinja_marks_generation(const struct jinja *jinja)
{
    return jinja_names(jinja, "endgeneration");
}

void jinja_scope_open(struct jinja_scope *scope, struct pool *pool)
{
    *scope = (struct jinja_scope){ .pool = pool, .variables = dict_new(pool), .date = "26 Jul 2024" };
}

/* In a function of its own: setjmp's caller keeps no variable that a longjmp could lose. */
static bool render(struct machine *machine, const struct jinja *jinja)
{
    if (setjmp(machine->fault.leave) != 0)
        return false;
    play(machine, jinja->body);
    return true;
}

bool jinja_render(const struct jinja *jinja, struct jinja_scope *scope, struct text *text, struct jinja_error *error)
{
    struct machine machine = { .pool = scope->pool, .date = scope->date };
    struct frame outside = { .names = scope->variables }, inside = { .outer = &outside, .names = dict_new(scope->pool) };
    struct builder builder = builder_new(&machine);
    machine.fault.error = error;
    machine.frame = machine.root = &inside;
    machine.out = &builder;
    scope->pool->limit_bytes = RENDER_BYTES_MOST + (RENDER_TIMES + 1) * scope->pool->used_bytes;
    scope->pool->full = pool_is_full;
    scope->pool->argument = &machine.fault;
    bool rendered = render(&machine, jinja);
    scope->pool->limit_bytes = 0;
    if (rendered)
        *text = *builder_done(&builder);
    return rendered;
}
