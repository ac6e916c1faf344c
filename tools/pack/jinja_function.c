/* jinja_function.c: the functions a template may call. */
#include "tools/pack/jinja_value.h"

#include <stdio.h>

enum { RANGE_MOST = 100000 }; /* the sandbox's own limit */

static struct value call_range(struct machine *machine, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "range", 3, "", "", "");
    int64_t first = argument_int(machine, arguments, 0, NULL, "range", 0), behind = argument_int(machine, arguments, 1, NULL, "range", 0);
    int64_t step = argument_int(machine, arguments, 2, NULL, "range", 1);
    if (arguments->count == 1) {
        behind = first;
        first = 0;
    }
    if (step == 0 || arguments->count == 0)
        fault_raise(&machine->fault, "range needs an end, and a step that is not 0");
    double count = ((double)behind - (double)first) / (double)step;
    if (count > RANGE_MOST)
        fault_raise(&machine->fault, "range: more than %d numbers", RANGE_MOST);
    struct list *list = list_new(machine->pool, count > 0 ? (int64_t)count + 1 : 0);
    list->count = 0;
    bool beyond = false;
    for (int64_t i = first; !beyond && (step > 0 ? i < behind : i > behind); beyond = __builtin_add_overflow(i, step, &i))
        list->item[list->count++] = value_int(i);
    return value_list(list);
}

static struct value call_names(struct machine *machine, const struct arguments *arguments, enum value_kind kind)
{
    struct dict *dict = dict_new(machine->pool);
    for (int i = 0; i < arguments->count; i++) {
        const struct argument *argument = &arguments->argument[i];
        if (argument->name != NULL) {
            dict_set(machine->pool, dict, value_word(machine->pool, argument->name), argument->value);
        } else if (argument->value.kind == VALUE_DICT) {
            for (int64_t p = 0; p < argument->value.dict->count; p++)
                dict_set(machine->pool, dict, argument->value.dict->pair[p].key, argument->value.dict->pair[p].value);
        } else {
            fault_raise(&machine->fault, "'%s' object is no mapping", value_kind_name(&argument->value));
        }
    }
    return (struct value){ .kind = kind, .dict = dict };
}

static struct value call_raise(struct machine *machine, const struct arguments *arguments)
{
    struct builder builder = builder_new(machine);
    for (int i = 0; i < arguments->count; i++)
        print_value(&builder, arguments->argument[i].value);
    const struct text *text = builder_done(&builder);
    fault_raise(&machine->fault, "%.*s", (int)(text->length < 200 ? text->length : 200), text->bytes);
}

/* The date is the caller's, day month year as "26 Jul 2024"; formats that ask for more than its parts are refused. */
static struct value call_now(struct machine *machine, const struct arguments *arguments)
{
    static const char *const months[] = { "January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December" };
    const struct text *format = argument_text(machine, arguments, 0, "format", "strftime_now");
    char month[16] = { 0 };
    int day = 0, year = 0, number = -1;
    if (sscanf(machine->date, "%d %15[A-Za-z] %d", &day, month, &year) == 3)
        for (int i = 0; i < ELEMENTS_OF(months); i++)
            if (strncmp(months[i], month, 3) == 0)
                number = i;
    if (number < 0)
        fault_raise(&machine->fault, "the date \"%s\" is not in the form \"26 Jul 2024\"", machine->date);
    struct builder builder = builder_new(machine);
    for (uint32_t i = 0; format != NULL && i < format->length; i++) {
        char part[16];
        if (format->bytes[i] != '%' || i + 1 == format->length) {
            builder_bytes(&builder, format->bytes + i, 1);
            continue;
        }
        switch (format->bytes[++i]) {
        case 'd':
            snprintf(part, sizeof part, "%02d", day);
            break;
        case 'm':
            snprintf(part, sizeof part, "%02d", number + 1);
            break;
        case 'b':
            snprintf(part, sizeof part, "%.3s", months[number]);
            break;
        case 'B':
            snprintf(part, sizeof part, "%s", months[number]);
            break;
        case 'Y':
            snprintf(part, sizeof part, "%04d", year);
            break;
        case 'y':
            snprintf(part, sizeof part, "%02d", year % 100);
            break;
        default:
            fault_raise(&machine->fault, "strftime_now: %%%c is not supported: only %%d %%m %%b %%B %%Y %%y", format->bytes[i]);
        }
        builder_word(&builder, part);
    }
    return value_of_text(builder_done(&builder));
}

static const char *const functions[] = { "range", "namespace", "dict", "raise_exception", "strftime_now" };

bool function_known(const char *name)
{
    for (int i = 0; i < ELEMENTS_OF(functions); i++)
        if (strcmp(functions[i], name) == 0)
            return true;
    return false;
}

struct value function_call(struct machine *machine, const char *name, const struct arguments *arguments)
{
    if (strcmp(name, "range") == 0)
        return call_range(machine, arguments);
    if (strcmp(name, "namespace") == 0)
        return call_names(machine, arguments, VALUE_NAMESPACE);
    if (strcmp(name, "dict") == 0)
        return call_names(machine, arguments, VALUE_DICT);
    if (strcmp(name, "raise_exception") == 0)
        return call_raise(machine, arguments);
    ASSERT(strcmp(name, "strftime_now") == 0);
    return call_now(machine, arguments);
}
