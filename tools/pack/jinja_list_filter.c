/* jinja_list_filter.c: the filters over lists: choosing, mapping, sorting, reducing. */
#include "tools/pack/jinja_filter.h"

#include <stdlib.h>

/* One argument list less its first places. */
static struct arguments arguments_rest(const struct arguments *arguments, int places)
{
    int skip = places < arguments->count ? places : arguments->count;
    return (struct arguments){ arguments->argument + skip, arguments->count - skip };
}

/* An attribute, also a.b.c or a number. */
static struct value attribute_path(struct machine *machine, struct value item, const struct text *path)
{
    const struct text dot = { .bytes = ".", .length = 1 };
    for (size_t begin = 0;;) {
        int64_t found = text_find(path, &dot, begin);
        size_t end = found >= 0 ? (size_t)found : path->length;
        char *name = pool_copy(machine->pool, path->bytes + begin, end - begin);
        bool number = name[0] != '\0' && strspn(name, "0123456789") == strlen(name);
        item = item_get(machine, item, number ? value_int(atoll(name)) : value_word(machine->pool, name));
        if (found < 0)
            return item;
        begin = end + 1;
    }
}

struct value filter_map(struct machine *machine, struct value input, const struct arguments *arguments)
{
    const struct list *items = value_items(machine, input);
    struct list *mapped = list_new(machine->pool, items->count);
    const struct text *attribute = argument_text(machine, arguments, -1, "attribute", "map");
    const struct value *otherwise = argument_find(arguments, -1, "default");
    const struct text *name = attribute == NULL ? argument_text(machine, arguments, 0, NULL, "map") : NULL;
    if (attribute == NULL && name == NULL)
        fault_raise(&machine->fault, "map needs an attribute or a filter");
    char *filter_name = name != NULL ? pool_copy(machine->pool, name->bytes, name->length) : NULL;
    if (filter_name != NULL && !filter_known(filter_name))
        fault_raise(&machine->fault, "map: the filter \"%s\" is not known", filter_name);
    struct arguments rest = arguments_rest(arguments, 1);
    for (int64_t i = 0; i < items->count; i++) {
        machine_step(machine);
        if (filter_name != NULL) {
            mapped->item[i] = filter_call(machine, filter_name, items->item[i], &rest);
            continue;
        }
        mapped->item[i] = attribute_path(machine, items->item[i], attribute);
        if (mapped->item[i].kind == VALUE_UNDEFINED && otherwise != NULL)
            mapped->item[i] = *otherwise;
    }
    return value_list(mapped);
}

/* select, reject, selectattr, rejectattr: by a test, or by truth where none is named. */
static struct value choose(struct machine *machine, struct value input, const struct arguments *arguments, bool by_attribute, bool keep)
{
    const struct list *items = value_items(machine, input);
    struct list *kept = list_new(machine->pool, items->count);
    kept->count = 0;
    const struct text *attribute = by_attribute ? argument_text(machine, arguments, 0, NULL, "selectattr") : NULL;
    const struct text *name = argument_text(machine, arguments, by_attribute ? 1 : 0, NULL, "select");
    char *test_name = name != NULL ? pool_copy(machine->pool, name->bytes, name->length) : NULL;
    if (by_attribute && attribute == NULL)
        fault_raise(&machine->fault, "selectattr needs an attribute");
    if (test_name != NULL && !test_known(test_name))
        fault_raise(&machine->fault, "select: the test \"%s\" is not known", test_name);
    struct arguments rest = arguments_rest(arguments, by_attribute ? 2 : 1);
    for (int64_t i = 0; i < items->count; i++) {
        machine_step(machine);
        struct value item = attribute != NULL ? attribute_path(machine, items->item[i], attribute) : items->item[i];
        bool holds = test_name != NULL ? test_call(machine, test_name, item, &rest) : value_truth(&item);
        if (holds == keep)
            kept->item[kept->count++] = items->item[i];
    }
    return value_list(kept);
}

struct value filter_select(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return choose(machine, input, arguments, false, true);
}

struct value filter_reject(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return choose(machine, input, arguments, false, false);
}

struct value filter_selectattr(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return choose(machine, input, arguments, true, true);
}

struct value filter_rejectattr(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return choose(machine, input, arguments, true, false);
}

/* Sorts stably by insertion: lists in templates are short. */
static void sort_values(struct machine *machine, struct value *item, const struct value *key, int64_t count)
{
    struct value *sorted = pool_take(machine->pool, (size_t)count * sizeof *sorted),
                 *keys = pool_take(machine->pool, (size_t)count * sizeof *keys);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i;
        for (; at > 0 && value_compare(&machine->fault, keys[at - 1], key[i]) > 0; at--) {
            machine_step(machine);
            keys[at] = keys[at - 1];
            sorted[at] = sorted[at - 1];
        }
        keys[at] = key[i];
        sorted[at] = item[i];
    }
    memcpy(item, sorted, (size_t)count * sizeof *sorted);
}

static struct value folded(struct machine *machine, struct value value)
{
    return value.kind == VALUE_TEXT ? value_of_text(text_case(machine, value.text, 'L')) : value;
}

struct value filter_sort(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "sort", 3, "reverse", "case_sensitive", "attribute");
    const struct text *attribute = argument_text(machine, arguments, 2, "attribute", "sort");
    bool exact = argument_int(machine, arguments, 1, "case_sensitive", "sort", 0) != 0;
    struct value list = filter_list(machine, input, &(struct arguments){ NULL, 0 });
    struct value *key = pool_take(machine->pool, (size_t)list.list->count * sizeof *key);
    for (int64_t i = 0; i < list.list->count; i++) {
        key[i] = attribute != NULL ? attribute_path(machine, list.list->item[i], attribute) : list.list->item[i];
        key[i] = exact ? key[i] : folded(machine, key[i]);
    }
    sort_values(machine, list.list->item, key, list.list->count);
    bool reverse = argument_int(machine, arguments, 0, "reverse", "sort", 0) != 0;
    return reverse ? slice_get(machine, list, value_none(), value_none(), value_int(-1)) : list;
}

struct value filter_dictsort(struct machine *machine, struct value input, const struct arguments *arguments)
{
    const struct arguments none = { NULL, 0 };
    arguments_check(&machine->fault, arguments, "dictsort", 0);
    struct value items = filter_items(machine, input, &none);
    struct value *key = pool_take(machine->pool, (size_t)items.list->count * sizeof *key);
    for (int64_t i = 0; i < items.list->count; i++)
        key[i] = folded(machine, items.list->item[i].list->item[0]);
    sort_values(machine, items.list->item, key, items.list->count);
    return items;
}

struct value filter_unique(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "unique", 0);
    const struct list *items = value_items(machine, input);
    struct list *kept = list_new(machine->pool, items->count);
    kept->count = 0;
    for (int64_t i = 0; i < items->count; i++) {
        bool seen = false;
        for (int64_t k = 0; k < kept->count && !seen; k++) {
            machine_step(machine);
            seen = value_equal(folded(machine, kept->item[k]), folded(machine, items->item[i]));
        }
        if (!seen)
            kept->item[kept->count++] = items->item[i];
    }
    return value_list(kept);
}

static struct value extreme(struct machine *machine, struct value input, const struct arguments *arguments, const char *name, int sign)
{
    arguments_check(&machine->fault, arguments, name, 0);
    const struct list *items = value_items(machine, input);
    struct value best = items->count > 0 ? items->item[0] : value_undefined("an item of an empty list");
    for (int64_t i = 1; i < items->count; i++)
        if (value_compare(&machine->fault, items->item[i], best) * sign > 0)
            best = items->item[i];
    return best;
}

struct value filter_max(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return extreme(machine, input, arguments, "max", 1);
}

struct value filter_min(struct machine *machine, struct value input, const struct arguments *arguments)
{
    return extreme(machine, input, arguments, "min", -1);
}

struct value filter_sum(struct machine *machine, struct value input, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, "sum", 0);
    const struct list *items = value_items(machine, input);
    struct value sum = value_int(0);
    for (int64_t i = 0; i < items->count; i++)
        sum = arithmetic(machine, OPERATION_ADD, sum, items->item[i]);
    return sum;
}
