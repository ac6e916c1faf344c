/* jinja_filter.c: the filters that chat templates use; names and results are Jinja's, tojson's are transformers'. */
#include "tools/pack/jinja_filter.h"

#include <math.h>
#include <stdlib.h>

static const struct text *shown(struct machine *machine, struct value value)
{
    if (value.kind == VALUE_TEXT)
        return value.text;
    struct builder builder = builder_new(machine);
    print_value(&builder, value);
    return builder_done(&builder);
}

static struct value filter_trim(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "trim", 1, "chars");
    return value_of_text(
        text_strip(machine->pool, shown(machine, input), argument_text(machine, arguments, 0, "chars", "trim"), true, true));
}

static struct value filter_tojson(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "tojson", 4, "ensure_ascii", "indent", "separators", "sort_keys");
    if (argument_int(machine, arguments, 0, "ensure_ascii", "tojson", 0) != 0)
        fault_raise(&machine->fault, "tojson: ensure_ascii is not supported");
    int64_t indent = argument_int(machine, arguments, 1, "indent", "tojson", -1);
    const struct value *separators = argument_find(arguments, 2, "separators");
    const char *comma = indent >= 0 ? "," : ", ", *colon = ": ";
    if (separators != NULL && separators->kind == VALUE_LIST && separators->list->count == 2 &&
        separators->list->item[0].kind == VALUE_TEXT && separators->list->item[1].kind == VALUE_TEXT) {
        comma = pool_copy(machine->pool, separators->list->item[0].text->bytes, separators->list->item[0].text->length);
        colon = pool_copy(machine->pool, separators->list->item[1].text->bytes, separators->list->item[1].text->length);
    } else if (separators != NULL && separators->kind != VALUE_NONE) {
        fault_raise(&machine->fault, "tojson: separators are two texts");
    }
    struct builder builder = builder_new(machine);
    print_json(machine, &builder, input, indent > 64 ? 64 : (int)indent, 0,
               argument_int(machine, arguments, 3, "sort_keys", "tojson", 0) != 0, comma, colon);
    return value_of_text(builder_done(&builder));
}

static struct value filter_length(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "length", 0);
    return value_int(value_length(&machine->fault, input));
}

static struct value filter_join(struct machine *machine, struct value input, const struct arguments *arguments)
{
    static const struct text nothing = { .bytes = "" };
    arguments_check(&machine->fault, arguments, "join", 2, "d", "attribute");
    const struct text *between = argument_text(machine, arguments, 0, "d", "join");
    const struct text *attribute = argument_text(machine, arguments, 1, "attribute", "join");
    return text_join(machine, between != NULL ? between : &nothing, value_items(machine, input),
                     attribute != NULL ? pool_copy(machine->pool, attribute->bytes, attribute->length) : NULL);
}

static struct value filter_upper(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "upper", 0);
    return value_of_text(text_case(machine, shown(machine, input), 'U'));
}

static struct value filter_lower(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "lower", 0);
    return value_of_text(text_case(machine, shown(machine, input), 'L'));
}

static struct value filter_title(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "title", 0);
    return value_of_text(text_case(machine, shown(machine, input), 'T'));
}

static struct value filter_capitalize(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "capitalize", 0);
    return value_of_text(text_case(machine, shown(machine, input), 'C'));
}

static struct value filter_replace(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "replace", 3, "old", "new", "count");
    const struct text *old = argument_text(machine, arguments, 0, "old", "replace"),
                      *fresh = argument_text(machine, arguments, 1, "new", "replace");
    if (old == NULL || fresh == NULL)
        fault_raise(&machine->fault, "replace needs two texts");
    return value_of_text(
        text_replace(machine, shown(machine, input), old, fresh, argument_int(machine, arguments, 2, "count", "replace", -1)));
}

static struct value filter_default(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "default", 2, "default_value", "boolean");
    const struct value *other = argument_find(arguments, 0, "default_value");
    bool falsy = argument_int(machine, arguments, 1, "boolean", "default", 0) != 0;
    if (input.kind != VALUE_UNDEFINED && !(falsy && !value_truth(&input)))
        return input;
    return other != NULL ? *other : value_word(machine->pool, "");
}

static struct value edge(struct machine *machine, struct value input, const struct arguments *arguments, const char *name, bool first)
{
    arguments_check(&machine->fault, arguments, name, 0);
    const struct list *items = value_items(machine, input);
    return items->count == 0 ? value_undefined("an item of an empty list") : items->item[first ? 0 : items->count - 1];
}

static struct value filter_first(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return edge(machine, input, arguments, "first", true);
}

static struct value filter_last(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return edge(machine, input, arguments, "last", false);
}

struct value filter_list(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "list", 0);
    const struct list *items = value_items(machine, input);
    struct list *list = list_new(machine->pool, items->count);
    memcpy(list->item, items->item, (size_t)items->count * sizeof *list->item);
    return value_list(list);
}

static struct value filter_reverse(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "reverse", 0);
    if (input.kind == VALUE_TEXT)
        return slice_get(machine, input, value_none(), value_none(), value_int(-1));
    return slice_get(machine, value_list(value_items(machine, input)), value_none(), value_none(), value_int(-1));
}

static struct value filter_string(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "string", 0);
    return value_of_text(shown(machine, input));
}

static struct value filter_safe(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "safe", 0);
    return input;
}

static struct value filter_int(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "int", 1, "default");
    if (input.kind == VALUE_INT)
        return input;
    if (input.kind == VALUE_BOOL)
        return value_int(input.truth);
    if (input.kind == VALUE_FLOAT && fabs(input.real) < 0x1p62)
        return value_int((int64_t)input.real);
    if (input.kind == VALUE_TEXT && input.text->length < 19) {
        char *digits = pool_copy(machine->pool, input.text->bytes, input.text->length), *end;
        long long whole = strtoll(digits, &end, 10);
        if (end > digits && strspn(end, " \t\n") == strlen(end))
            return value_int(whole);
    }
    return value_int(argument_int(machine, arguments, 0, "default", "int", 0));
}

static struct value filter_float(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "float", 1, "default");
    const struct value *other = argument_find(arguments, 0, "default");
    if (input.kind == VALUE_TEXT && input.text->length < 64) {
        char *digits = pool_copy(machine->pool, input.text->bytes, input.text->length), *end;
        double real = strtod(digits, &end);
        if (end > digits && *end == '\0')
            return value_float(real);
    }
    if (input.kind == VALUE_INT || input.kind == VALUE_BOOL || input.kind == VALUE_FLOAT)
        return arithmetic(machine, OPERATION_ADD, value_float(0.0), input);
    return other != NULL ? *other : value_float(0.0);
}

static struct value filter_abs(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "abs", 0);
    return value_compare(&machine->fault, input, value_int(0)) < 0 ? arithmetic(machine, OPERATION_SUBTRACT, value_int(0), input) : input;
}

static struct value filter_round(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "round", 2, "precision", "method");
    const struct text *method = argument_text(machine, arguments, 1, "method", "round");
    double scale = pow(10.0, (double)argument_int(machine, arguments, 0, "precision", "round", 0));
    struct value real = arithmetic(machine, OPERATION_MULTIPLY, input, value_float(scale));
    if (real.kind != VALUE_FLOAT)
        fault_raise(&machine->fault, "round: '%s' is no number", value_kind_name(&input));
    if (method == NULL || text_is(method, "common"))
        return value_float(nearbyint(real.real) / scale);
    if (!text_is(method, "ceil") && !text_is(method, "floor"))
        fault_raise(&machine->fault, "round: the method is common, ceil or floor");
    return value_float((text_is(method, "ceil") ? ceil(real.real) : floor(real.real)) / scale);
}

struct value filter_items(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "items", 0);
    if (input.kind == VALUE_UNDEFINED)
        return value_list(list_new(machine->pool, 0));
    if (input.kind != VALUE_DICT)
        fault_raise(&machine->fault, "items: '%s' object is no mapping", value_kind_name(&input));
    const struct method method = { input, "items" };
    return method_call(machine, &method, arguments);
}

static struct value filter_indent(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "indent", 3, "width", "first", "blank");
    const struct value *width = argument_find(arguments, 0, "width");
    struct builder by = builder_new(machine), out = builder_new(machine);
    int64_t spaces = width == NULL || width->kind == VALUE_TEXT ? 4 : argument_int(machine, arguments, 0, "width", "indent", 4);
    for (int64_t i = 0; i < spaces && (width == NULL || width->kind != VALUE_TEXT); i++)
        builder_word(&by, " ");
    if (width != NULL && width->kind == VALUE_TEXT)
        builder_text(&by, width->text);
    bool first = argument_int(machine, arguments, 1, "first", "indent", 0) != 0,
         blank = argument_int(machine, arguments, 2, "blank", "indent", 0) != 0;
    const struct text *text = shown(machine, input), *margin = builder_done(&by);
    for (size_t begin = 0; begin <= text->length;) {
        const char *feed = memchr(text->bytes + begin, '\n', text->length - begin);
        size_t end = feed != NULL ? (size_t)(feed - text->bytes) + 1 : text->length;
        if ((begin > 0 || first) && (blank || (end > begin && text->bytes[begin] != '\n')))
            builder_text(&out, margin);
        builder_text(&out, text_cut(machine->pool, text, begin, end));
        if (feed == NULL)
            break;
        begin = end;
    }
    return value_of_text(builder_done(&out));
}

static const struct {
    const char *name;
    filter *call;
} filters[] = {
    { "trim", filter_trim },
    { "tojson", filter_tojson },
    { "length", filter_length },
    { "count", filter_length },
    { "join", filter_join },
    { "upper", filter_upper },
    { "lower", filter_lower },
    { "title", filter_title },
    { "capitalize", filter_capitalize },
    { "replace", filter_replace },
    { "default", filter_default },
    { "d", filter_default },
    { "first", filter_first },
    { "last", filter_last },
    { "list", filter_list },
    { "reverse", filter_reverse },
    { "string", filter_string },
    { "safe", filter_safe },
    { "int", filter_int },
    { "float", filter_float },
    { "abs", filter_abs },
    { "round", filter_round },
    { "items", filter_items },
    { "indent", filter_indent },
    { "map", filter_map },
    { "select", filter_select },
    { "reject", filter_reject },
    { "selectattr", filter_selectattr },
    { "rejectattr", filter_rejectattr },
    { "sort", filter_sort },
    { "unique", filter_unique },
    { "dictsort", filter_dictsort },
    { "max", filter_max },
    { "min", filter_min },
    { "sum", filter_sum },
};

bool filter_known(const char *name)
{
    for (int i = 0; i < ELEMENTS_OF(filters); i++)
        if (strcmp(filters[i].name, name) == 0)
            return true;
    return false;
}

struct value filter_call(struct machine *machine, const char *name, struct value input, const struct arguments *arguments)
{
    for (int i = 0; i < ELEMENTS_OF(filters); i++)
        if (strcmp(filters[i].name, name) == 0)
            return filters[i].call(machine, input, arguments);
    fault_raise(&machine->fault, "the filter \"%s\" is not known", name);
}
