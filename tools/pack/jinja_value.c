/* jinja_value.c: making, comparing and adding values; the rules are Python's. */
#include "tools/pack/jinja_node.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

_Noreturn void fault_raise(struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->error->text, sizeof fault->error->text, format, arguments);
    va_end(arguments);
    fault->error->line = fault->line;
    longjmp(fault->leave, 1);
}

struct value value_none(void)
{
    return (struct value){ .kind = VALUE_NONE };
}

struct value value_undefined(const char *name)
{
    return (struct value){ .kind = VALUE_UNDEFINED, .name = name };
}

struct value value_bool(bool truth)
{
    return (struct value){ .kind = VALUE_BOOL, .truth = truth };
}

struct value value_int(int64_t whole)
{
    return (struct value){ .kind = VALUE_INT, .whole = whole };
}

struct value value_float(double real)
{
    return (struct value){ .kind = VALUE_FLOAT, .real = real };
}

struct value value_of_text(const struct text *text)
{
    return (struct value){ .kind = VALUE_TEXT, .text = text };
}

struct value value_text(struct pool *pool, const char *bytes, size_t length)
{
    struct text *text = pool_take(pool, sizeof *text);
    text->bytes = pool_copy(pool, bytes, length);
    text->length = (uint32_t)length;
    return value_of_text(text);
}

struct value value_word(struct pool *pool, const char *word)
{
    struct text *text = pool_take(pool, sizeof *text);
    text->bytes = word;
    text->length = (uint32_t)strlen(word);
    return value_of_text(text);
}

struct list *list_new(struct pool *pool, int64_t count)
{
    struct list *list = pool_take(pool, sizeof *list);
    list->item = pool_take(pool, (size_t)count * sizeof *list->item);
    list->count = count;
    return list;
}

struct value value_list(const struct list *list)
{
    return (struct value){ .kind = VALUE_LIST, .list = list };
}

struct value value_dict(struct dict *dict)
{
    return (struct value){ .kind = VALUE_DICT, .dict = dict };
}

struct dict *dict_new(struct pool *pool)
{
    return pool_take(pool, sizeof(struct dict));
}

const struct value *dict_find(const struct dict *dict, struct value key)
{
    for (int64_t i = 0; i < dict->count; i++)
        if (value_equal(dict->pair[i].key, key))
            return &dict->pair[i].value;
    return NULL;
}

const struct value *dict_find_word(const struct dict *dict, const char *word)
{
    for (int64_t i = 0; i < dict->count; i++)
        if (dict->pair[i].key.kind == VALUE_TEXT && text_is(dict->pair[i].key.text, word))
            return &dict->pair[i].value;
    return NULL;
}

void dict_set(struct pool *pool, struct dict *dict, struct value key, struct value value)
{
    for (int64_t i = 0; i < dict->count; i++)
        if (value_equal(dict->pair[i].key, key)) {
            dict->pair[i].value = value;
            return;
        }
    if (dict->count == dict->room) {
        dict->room = dict->room == 0 ? 8 : dict->room * 2;
        struct pair *grown = pool_take(pool, (size_t)dict->room * sizeof *grown);
        if (dict->count > 0)
            memcpy(grown, dict->pair, (size_t)dict->count * sizeof *grown);
        dict->pair = grown;
    }
    dict->pair[dict->count++] = (struct pair){ key, value };
}

const char *value_kind_name(const struct value *value)
{
    static const char *const names[] = { "undefined", "NoneType",  "bool",        "int",   "float",  "str",     "list",
                                         "dict",      "Namespace", "LoopContext", "Macro", "method", "function" };
    if (value->kind == VALUE_LIST && value->list->tuple)
        return "tuple";
    return names[value->kind];
}

bool value_truth(const struct value *value)
{
    switch (value->kind) {
    case VALUE_UNDEFINED:
    case VALUE_NONE:
        return false;
    case VALUE_BOOL:
        return value->truth;
    case VALUE_INT:
        return value->whole != 0;
    case VALUE_FLOAT:
        return value->real != 0.0;
    case VALUE_TEXT:
        return value->text->length > 0;
    case VALUE_LIST:
        return value->list->count > 0;
    case VALUE_DICT:
        return value->dict->count > 0;
    case VALUE_NAMESPACE:
    case VALUE_LOOP:
    case VALUE_MACRO:
    case VALUE_METHOD:
    case VALUE_FUNCTION:
        break;
    }
    return true;
}

/* Python's int: bool is one too. */
static bool whole_of(struct value value, int64_t *whole)
{
    if (value.kind != VALUE_INT && value.kind != VALUE_BOOL)
        return false;
    *whole = value.kind == VALUE_INT ? value.whole : value.truth;
    return true;
}

static bool real_of(struct value value, double *real)
{
    int64_t whole;
    if (value.kind == VALUE_FLOAT) {
        *real = value.real;
        return true;
    }
    if (!whole_of(value, &whole))
        return false;
    *real = (double)whole;
    return true;
}

bool value_equal(struct value a, struct value b)
{
    int64_t whole_a, whole_b;
    double real_a, real_b;
    if (whole_of(a, &whole_a) && whole_of(b, &whole_b))
        return whole_a == whole_b;
    if (real_of(a, &real_a) && real_of(b, &real_b))
        return real_a == real_b;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_TEXT:
        return a.text->length == b.text->length && memcmp(a.text->bytes, b.text->bytes, a.text->length) == 0;
    case VALUE_LIST:
        if (a.list->count != b.list->count || a.list->tuple != b.list->tuple)
            return false;
        for (int64_t i = 0; i < a.list->count; i++)
            if (!value_equal(a.list->item[i], b.list->item[i]))
                return false;
        return true;
    case VALUE_DICT:
        if (a.dict->count != b.dict->count)
            return false;
        for (int64_t i = 0; i < a.dict->count; i++) {
            const struct value *other = dict_find(b.dict, a.dict->pair[i].key);
            if (other == NULL || !value_equal(a.dict->pair[i].value, *other))
                return false;
        }
        return true;
    case VALUE_UNDEFINED:
    case VALUE_NONE:
        return true;
    default:
        return a.dict == b.dict;
    }
}

int value_compare(struct fault *fault, struct value a, struct value b)
{
    int64_t whole_a, whole_b;
    double real_a, real_b;
    if (whole_of(a, &whole_a) && whole_of(b, &whole_b))
        return (whole_a > whole_b) - (whole_a < whole_b);
    if (real_of(a, &real_a) && real_of(b, &real_b))
        return (real_a > real_b) - (real_a < real_b);
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) {
        size_t shorter = a.text->length < b.text->length ? a.text->length : b.text->length;
        int order = memcmp(a.text->bytes, b.text->bytes, shorter);
        return order != 0 ? (order > 0) - (order < 0) : (a.text->length > b.text->length) - (a.text->length < b.text->length);
    }
    if (a.kind == VALUE_LIST && b.kind == VALUE_LIST && a.list->tuple == b.list->tuple) {
        for (int64_t i = 0; i < a.list->count && i < b.list->count; i++)
            if (!value_equal(a.list->item[i], b.list->item[i]))
                return value_compare(fault, a.list->item[i], b.list->item[i]);
        return (a.list->count > b.list->count) - (a.list->count < b.list->count);
    }
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
        fault_raise(fault, "'%s' is undefined", a.kind == VALUE_UNDEFINED ? a.name : b.name);
    fault_raise(fault, "'%s' and '%s' have no order", value_kind_name(&a), value_kind_name(&b));
}

const struct list *value_items(struct machine *machine, struct value value)
{
    if (value.kind == VALUE_LIST)
        return value.list;
    if (value.kind == VALUE_UNDEFINED)
        return list_new(machine->pool, 0);
    if (value.kind == VALUE_DICT) {
        struct list *keys = list_new(machine->pool, value.dict->count);
        for (int64_t i = 0; i < keys->count; i++)
            keys->item[i] = value.dict->pair[i].key;
        return keys;
    }
    if (value.kind == VALUE_TEXT) {
        struct list *characters = list_new(machine->pool, (int64_t)text_characters(value.text));
        size_t byte = 0;
        int32_t character;
        for (int64_t i = 0; i < characters->count; i++) {
            size_t next = text_next(value.text, byte, &character);
            characters->item[i] = value_of_text(text_cut(machine->pool, value.text, byte, next));
            byte = next;
        }
        return characters;
    }
    fault_raise(&machine->fault, "'%s' object is not iterable", value_kind_name(&value));
}

int64_t value_length(struct fault *fault, struct value value)
{
    switch (value.kind) {
    case VALUE_TEXT:
        return (int64_t)text_characters(value.text);
    case VALUE_LIST:
        return value.list->count;
    case VALUE_DICT:
        return value.dict->count;
    case VALUE_LOOP:
        return value.loop->items->count;
    case VALUE_UNDEFINED:
        return 0;
    default:
        fault_raise(fault, "object of type '%s' has no length", value_kind_name(&value));
    }
}

static struct value add(struct machine *machine, struct value a, struct value b)
{
    if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT) {
        struct builder builder = builder_new(machine);
        builder_text(&builder, a.text);
        builder_text(&builder, b.text);
        return value_of_text(builder_done(&builder));
    }
    if (a.kind == VALUE_LIST && b.kind == VALUE_LIST && a.list->tuple == b.list->tuple) {
        struct list *sum = list_new(machine->pool, a.list->count + b.list->count);
        sum->tuple = a.list->tuple;
        memcpy(sum->item, a.list->item, (size_t)a.list->count * sizeof *sum->item);
        memcpy(sum->item + a.list->count, b.list->item, (size_t)b.list->count * sizeof *sum->item);
        return value_list(sum);
    }
    fault_raise(&machine->fault, "'%s' and '%s' cannot be added", value_kind_name(&a), value_kind_name(&b));
}

/* "ab" * 3 and [1] * 3. */
static struct value repeat(struct machine *machine, struct value what, int64_t times)
{
    times = times < 0 ? 0 : times;
    if (what.kind == VALUE_TEXT) {
        struct builder builder = builder_new(machine);
        for (int64_t i = 0; i < times; i++) {
            machine_step(machine);
            builder_text(&builder, what.text);
        }
        return value_of_text(builder_done(&builder));
    }
    if (times > 0 && what.list->count > (1 << 20) / times)
        fault_raise(&machine->fault, "a list of more than %d items", 1 << 20);
    struct list *list = list_new(machine->pool, what.list->count * times);
    list->tuple = what.list->tuple;
    for (int64_t i = 0; i < list->count; i++)
        list->item[i] = what.list->item[i % what.list->count];
    return value_list(list);
}

static struct value whole_arithmetic(struct fault *fault, int operation, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    switch (operation) {
    case OPERATION_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case OPERATION_SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case OPERATION_MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case OPERATION_POWER:
        result = 1;
        for (int64_t i = 0; i < b && !overflow && a != 0 && a != 1; i++)
            overflow = __builtin_mul_overflow(result, a, &result) || i > 4096;
        if (b > 0 && (a == 0 || a == 1))
            result = a;
        break;
    default: /* whole division and remainder, rounded down */
        if (b == 0)
            fault_raise(fault, "division by zero");
        overflow = a == INT64_MIN && b == -1;
        if (overflow)
            break;
        int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
        result = operation == OPERATION_WHOLE_DIVIDE ? quotient : a - quotient * b;
    }
    if (overflow)
        fault_raise(fault, "a number beyond 64 bits");
    return value_int(result);
}

struct value arithmetic(struct machine *machine, int operation, struct value a, struct value b)
{
    static const char *const signs[] = { "+", "-", "*", "/", "//", "%", "**" };
    int64_t whole_a, whole_b;
    double real_a, real_b;
    if (a.kind == VALUE_UNDEFINED || b.kind == VALUE_UNDEFINED)
        fault_raise(&machine->fault, "'%s' is undefined", a.kind == VALUE_UNDEFINED ? a.name : b.name);
    bool whole = whole_of(a, &whole_a) && whole_of(b, &whole_b);
    if (whole && operation != OPERATION_DIVIDE && !(operation == OPERATION_POWER && whole_b < 0))
        return whole_arithmetic(&machine->fault, operation, whole_a, whole_b);
    if (real_of(a, &real_a) && real_of(b, &real_b)) {
        if (operation >= OPERATION_DIVIDE && operation != OPERATION_POWER && real_b == 0.0)
            fault_raise(&machine->fault, "division by zero");
        double down = floor(real_a / real_b);
        double results[] = { real_a + real_b,        real_a - real_b,    real_a * real_b, real_a / real_b, down,
                             real_a - down * real_b, pow(real_a, real_b) };
        return value_float(results[operation]);
    }
    if (operation == OPERATION_ADD)
        return add(machine, a, b);
    if (operation == OPERATION_MULTIPLY && (a.kind == VALUE_TEXT || a.kind == VALUE_LIST) && whole_of(b, &whole_b))
        return repeat(machine, a, whole_b);
    if (operation == OPERATION_MULTIPLY && (b.kind == VALUE_TEXT || b.kind == VALUE_LIST) && whole_of(a, &whole_a))
        return repeat(machine, b, whole_a);
    fault_raise(&machine->fault, "unsupported operand types for %s: '%s' and '%s'", signs[operation], value_kind_name(&a),
                value_kind_name(&b));
}
