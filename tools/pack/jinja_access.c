/* jinja_access.c: attributes, items, slices and arguments. As in the sandbox of transformers, what begins with an underscore is not there, and
 * neither are methods that change a value. */
#include "tools/pack/jinja_value.h"

static const char *const text_methods[] = { "strip",    "lstrip",  "rstrip",  "split",   "rsplit",     "splitlines",   "startswith",
                                            "endswith", "upper",   "lower",   "title",   "capitalize", "replace",      "find",
                                            "rfind",    "count",   "join",    "index",   "format",     "removeprefix", "removesuffix",
                                            "isdigit",  "isspace", "isalpha", "isalnum", "isupper",    "islower" };
static const char *const dict_methods[] = { "get", "items", "keys", "values", "copy" };
static const char *const list_methods[] = { "index", "count" };

static bool listed(const char *name, const char *const *names, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static struct value bound(struct machine *machine, struct value self, const char *name)
{
    struct method *method = pool_take(machine->pool, sizeof *method);
    *method = (struct method){ self, name };
    return (struct value){ .kind = VALUE_METHOD, .method = method };
}

static struct value loop_attribute(struct machine *machine, struct value value, const char *name)
{
    const struct loop *loop = value.loop;
    int64_t index = loop->index, count = loop->items->count;
    const struct {
        const char *name;
        int64_t whole;
    } numbers[] = {
        { "index", index + 1 }, { "index0", index },      { "revindex", count - index }, { "revindex0", count - index - 1 },
        { "length", count },    { "depth", loop->depth }, { "depth0", loop->depth - 1 },
    };
    for (int i = 0; i < ELEMENTS_OF(numbers); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return value_int(numbers[i].whole);
    if (strcmp(name, "first") == 0)
        return value_bool(index == 0);
    if (strcmp(name, "last") == 0)
        return value_bool(index == count - 1);
    if (strcmp(name, "previtem") == 0)
        return index > 0 ? loop->items->item[index - 1] : value_undefined("there is no previous item");
    if (strcmp(name, "nextitem") == 0)
        return index < count - 1 ? loop->items->item[index + 1] : value_undefined("there is no next item");
    if (strcmp(name, "cycle") == 0)
        return bound(machine, value, "cycle");
    return value_undefined(name);
}

struct value attribute_get(struct machine *machine, struct value value, const char *name)
{
    const struct value *found = NULL;
    if (value.kind == VALUE_UNDEFINED)
        fault_raise(&machine->fault, "'%s' is undefined", value.name);
    if (name[0] == '_')
        return value_undefined(name);
    if (value.kind == VALUE_LOOP)
        return loop_attribute(machine, value, name);
    if (value.kind == VALUE_NAMESPACE)
        found = dict_find_word(value.dict, name);
    if (value.kind == VALUE_DICT && listed(name, dict_methods, ELEMENTS_OF(dict_methods)))
        return bound(machine, value, name);
    if (value.kind == VALUE_DICT)
        found = dict_find_word(value.dict, name);
    if (value.kind == VALUE_TEXT && listed(name, text_methods, ELEMENTS_OF(text_methods)))
        return bound(machine, value, name);
    if (value.kind == VALUE_LIST && listed(name, list_methods, ELEMENTS_OF(list_methods)))
        return bound(machine, value, name);
    return found != NULL ? *found : value_undefined(name);
}

struct value item_get(struct machine *machine, struct value value, struct value key)
{
    if (value.kind == VALUE_UNDEFINED)
        fault_raise(&machine->fault, "'%s' is undefined", value.name);
    if (value.kind == VALUE_DICT) {
        const struct value *found = dict_find(value.dict, key);
        if (found != NULL)
            return *found;
    }
    if (key.kind == VALUE_TEXT)
        return attribute_get(machine, value, pool_copy(machine->pool, key.text->bytes, key.text->length));
    if (key.kind != VALUE_INT || (value.kind != VALUE_LIST && value.kind != VALUE_TEXT))
        return value_undefined("an item that is not there");
    int64_t count = value_length(&machine->fault, value), index = key.whole < 0 ? key.whole + count : key.whole;
    if (index < 0 || index >= count)
        return value_undefined("an item beyond the end");
    if (value.kind == VALUE_LIST)
        return value.list->item[index];
    size_t byte = text_byte_of(value.text, (size_t)index);
    int32_t character;
    return value_of_text(text_cut(machine->pool, value.text, byte, text_next(value.text, byte, &character)));
}

/* One end of a slice, brought into [low, high]. */
static int64_t slice_end(struct machine *machine, struct value end, int64_t count, int64_t otherwise, int64_t low, int64_t high)
{
    if (end.kind == VALUE_NONE)
        return otherwise;
    if (end.kind != VALUE_INT)
        fault_raise(&machine->fault, "a slice needs whole numbers, not '%s'", value_kind_name(&end));
    int64_t at = end.whole < 0 ? end.whole + count : end.whole;
    return at < low ? low : at > high ? high : at;
}

struct value slice_get(struct machine *machine, struct value value, struct value begin, struct value end, struct value step)
{
    if (value.kind == VALUE_UNDEFINED)
        fault_raise(&machine->fault, "'%s' is undefined", value.name);
    if (value.kind != VALUE_TEXT && value.kind != VALUE_LIST)
        fault_raise(&machine->fault, "'%s' object cannot be sliced", value_kind_name(&value));
    if (step.kind != VALUE_NONE && (step.kind != VALUE_INT || step.whole == 0))
        fault_raise(&machine->fault, "a slice needs a whole step that is not 0");
    int64_t count = value_length(&machine->fault, value), stride = step.kind == VALUE_INT ? step.whole : 1;
    int64_t first, behind;
    if (stride > 0) {
        first = slice_end(machine, begin, count, 0, 0, count);
        behind = slice_end(machine, end, count, count, 0, count);
    } else {
        first = slice_end(machine, begin, count, count - 1, -1, count - 1);
        behind = slice_end(machine, end, count, -1, -1, count - 1);
    }
    if (value.kind == VALUE_TEXT && stride == 1) {
        behind = behind < first ? first : behind;
        return value_of_text(
            text_cut(machine->pool, value.text, text_byte_of(value.text, (size_t)first), text_byte_of(value.text, (size_t)behind)));
    }
    const struct list *items = value_items(machine, value);
    struct list *cut = list_new(machine->pool, count);
    cut->tuple = items->tuple;
    cut->count = 0;
    for (int64_t i = first; stride > 0 ? i < behind : i > behind; i += stride) {
        cut->item[cut->count++] = items->item[i];
        if (stride > count || stride < -count)
            break;
    }
    if (value.kind == VALUE_LIST)
        return value_list(cut);
    const struct text nothing = { .bytes = "" };
    return text_join(machine, &nothing, cut, NULL);
}

/* ---- arguments ---- */

const struct value *argument_find(const struct arguments *arguments, int place, const char *name)
{
    int at = 0;
    for (int i = 0; i < arguments->count; i++) {
        const struct argument *argument = &arguments->argument[i];
        if (argument->name == NULL ? at++ == place : name != NULL && strcmp(argument->name, name) == 0)
            return &argument->value;
    }
    return NULL;
}

void arguments_check(struct fault *fault, const struct arguments *arguments, const char *what, int most, ...)
{
    for (int i = 0; i < arguments->count; i++) {
        const char *name = arguments->argument[i].name;
        bool known = name == NULL && i < most;
        va_list names;
        va_start(names, most);
        for (int n = 0; n < most && name != NULL; n++)
            known = strcmp(va_arg(names, const char *), name) == 0 || known;
        va_end(names);
        if (!known && name != NULL)
            fault_raise(fault, "%s takes no argument '%s'", what, name);
        if (!known)
            fault_raise(fault, "%s takes %d arguments at most, not %d", what, most, arguments->count);
    }
}

const struct text *argument_text(struct machine *machine, const struct arguments *arguments, int place, const char *name, const char *what)
{
    const struct value *value = argument_find(arguments, place, name);
    if (value == NULL || value->kind == VALUE_NONE)
        return NULL;
    if (value->kind != VALUE_TEXT)
        fault_raise(&machine->fault, "%s needs a str, not '%s'", what, value_kind_name(value));
    return value->text;
}

int64_t argument_int(struct machine *machine, const struct arguments *arguments, int place, const char *name, const char *what,
                     int64_t otherwise)
{
    const struct value *value = argument_find(arguments, place, name);
    if (value == NULL || value->kind == VALUE_NONE)
        return otherwise;
    if (value->kind == VALUE_BOOL)
        return value->truth;
    if (value->kind != VALUE_INT)
        fault_raise(&machine->fault, "%s needs a whole number, not '%s'", what, value_kind_name(value));
    return value->whole;
}
