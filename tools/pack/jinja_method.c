/* jinja_method.c: methods of texts, mappings and lists, and the functions a template may call. Names and results are Python's. */
#include "tools/pack/jinja_value.h"

#include <stdio.h>
#include <utf8proc.h>

static bool in_set(const struct text *set, int32_t character)
{
    if (set == NULL)
        return character_is_space(character);
    int32_t member;
    for (size_t at = 0; at < set->length;) {
        at = text_next(set, at, &member);
        if (member == character)
            return true;
    }
    return false;
}

const struct text *text_strip(struct pool *pool, const struct text *text, const struct text *set, bool left, bool right)
{
    size_t begin = 0, end = text->length;
    int32_t character;
    while (left && begin < end) {
        size_t next = text_next(text, begin, &character);
        if (!in_set(set, character))
            break;
        begin = next;
    }
    while (right && end > begin) {
        size_t before = text_before(text, end, &character);
        if (!in_set(set, character))
            break;
        end = before;
    }
    return text_cut(pool, text, begin, end);
}

const struct text *text_replace(struct machine *machine, const struct text *text, const struct text *old, const struct text *fresh,
                                int64_t most)
{
    struct builder builder = builder_new(machine);
    size_t at = 0;
    if (old->length == 0)
        fault_raise(&machine->fault, "replace: nothing to look for");
    for (; most != 0; most--) {
        int64_t found = text_find(text, old, at);
        if (found < 0)
            break;
        builder_text(&builder, text_cut(machine->pool, text, at, (size_t)found));
        builder_text(&builder, fresh);
        at = (size_t)found + old->length;
    }
    builder_text(&builder, text_cut(machine->pool, text, at, text->length));
    return builder_done(&builder);
}

const struct text *text_case(struct machine *machine, const struct text *text, char how)
{
    struct builder builder = builder_new(machine);
    bool inside = false; /* of a word, for titles; past the first character, for capitals */
    int32_t character;
    for (size_t at = 0; at < text->length;) {
        uint32_t origin = text_origin(text, at);
        at = text_next(text, at, &character);
        bool upper = how == 'U' || ((how == 'T' || how == 'C') && !inside);
        int32_t other = upper ? utf8proc_toupper(character) : utf8proc_tolower(character);
        inside = how == 'C' || other != utf8proc_toupper(character) || other != utf8proc_tolower(character);
        char bytes[4];
        builder_byte_as(&builder, bytes, (size_t)utf8proc_encode_char(other, (utf8proc_uint8_t *)bytes), origin);
    }
    return builder_done(&builder);
}

struct value text_join(struct machine *machine, const struct text *between, const struct list *items, const char *attribute)
{
    struct builder builder = builder_new(machine);
    for (int64_t i = 0; i < items->count; i++) {
        machine_step(machine);
        if (i > 0)
            builder_text(&builder, between);
        struct value item = items->item[i];
        print_value(&builder, attribute != NULL ? attribute_get(machine, item, attribute) : item);
    }
    return value_of_text(builder_done(&builder));
}

/* ---- splitting ---- */

struct pieces {
    struct machine *machine;
    const struct text *text;
    struct list *list;
    int64_t room;
};

static void piece_put(struct pieces *pieces, size_t begin, size_t end)
{
    struct list *list = pieces->list;
    machine_step(pieces->machine);
    if (list->count == pieces->room) {
        struct list *grown = list_new(pieces->machine->pool, pieces->room * 2);
        memcpy(grown->item, list->item, (size_t)list->count * sizeof *list->item);
        list->item = grown->item;
        pieces->room *= 2;
    }
    list->item[list->count++] = value_of_text(text_cut(pieces->machine->pool, pieces->text, begin, end));
}

static struct pieces pieces_new(struct machine *machine, const struct text *text)
{
    struct pieces pieces = { machine, text, list_new(machine->pool, 8), 8 };
    pieces.list->count = 0;
    return pieces;
}

static void split_space(struct pieces *pieces, int64_t most)
{
    const struct text *text = pieces->text;
    int32_t character;
    for (size_t at = 0; at < text->length;) {
        size_t next = text_next(text, at, &character);
        if (character_is_space(character)) {
            at = next;
            continue;
        }
        if (most-- == 0) {
            const struct text *rest =
                text_strip(pieces->machine->pool, text_cut(pieces->machine->pool, text, at, text->length), NULL, false, true);
            piece_put(pieces, at, at + rest->length);
            return;
        }
        size_t end = next;
        while (end < text->length) {
            next = text_next(text, end, &character);
            if (character_is_space(character))
                break;
            end = next;
        }
        piece_put(pieces, at, end);
        at = end;
    }
}

static struct value split(struct machine *machine, const struct text *text, const struct text *at_text, int64_t most, bool from_right)
{
    struct pieces pieces = pieces_new(machine, text);
    if (at_text == NULL && from_right && most >= 0)
        fault_raise(&machine->fault, "rsplit needs something to split at");
    if (at_text == NULL) {
        split_space(&pieces, most);
        return value_list(pieces.list);
    }
    if (at_text->length == 0)
        fault_raise(&machine->fault, "split at nothing");
    int64_t skip = 0; /* from the right: the first ones are not split at */
    if (from_right && most >= 0) {
        for (int64_t found = text_find(text, at_text, 0); found >= 0; found = text_find(text, at_text, (size_t)found + at_text->length))
            skip++;
        skip = skip > most ? skip - most : 0;
        most = -1;
    }
    size_t begin = 0, from = 0;
    while (most != 0) {
        int64_t found = text_find(text, at_text, from);
        if (found < 0)
            break;
        from = (size_t)found + at_text->length;
        if (skip-- > 0)
            continue;
        piece_put(&pieces, begin, (size_t)found);
        begin = from;
        most -= most > 0;
    }
    piece_put(&pieces, begin, text->length);
    return value_list(pieces.list);
}

static struct value split_lines(struct machine *machine, const struct text *text, bool keep)
{
    struct pieces pieces = pieces_new(machine, text);
    size_t begin = 0;
    int32_t character;
    for (size_t at = 0; at < text->length;) {
        size_t next = text_next(text, at, &character);
        bool ends = (character >= 0x0a && character <= 0x0d) || (character >= 0x1c && character <= 0x1e) || character == 0x85 ||
                    character == 0x2028 || character == 0x2029;
        if (character == '\r' && next < text->length && text->bytes[next] == '\n')
            next++;
        if (ends) {
            piece_put(&pieces, begin, keep ? next : at);
            begin = next;
        }
        at = next;
    }
    if (begin < text->length)
        piece_put(&pieces, begin, text->length);
    return value_list(pieces.list);
}

/* ---- methods of texts ---- */

/* startswith and endswith: one text, or a tuple of them. */
static bool borders(struct machine *machine, const struct text *text, const struct arguments *arguments, bool start)
{
    const struct value *part = argument_find(arguments, 0, NULL);
    if (part == NULL)
        fault_raise(&machine->fault, "%s needs a str", start ? "startswith" : "endswith");
    const struct list only = { .item = (struct value *)(uintptr_t)part, .count = 1 };
    const struct list *parts = part->kind == VALUE_LIST ? part->list : &only;
    for (int64_t i = 0; i < parts->count; i++) {
        const struct value *one = &parts->item[i];
        if (one->kind != VALUE_TEXT)
            fault_raise(&machine->fault, "%s needs a str, not '%s'", start ? "startswith" : "endswith", value_kind_name(one));
        if (one->text->length <= text->length && text_at(text, start ? 0 : text->length - one->text->length, one->text))
            return true;
    }
    return false;
}

static int64_t find_last(const struct text *text, const struct text *part)
{
    int64_t last = -1;
    for (int64_t found = text_find(text, part, 0); found >= 0; found = text_find(text, part, (size_t)found + 1))
        last = found;
    return last;
}

/* isdigit and its kin: not empty, and all characters are of that kind. */
static bool all_characters(const struct text *text, const char *name)
{
    int32_t character;
    bool cased = false;
    for (size_t at = 0; at < text->length;) {
        at = text_next(text, at, &character);
        utf8proc_category_t category = utf8proc_category(character);
        bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
        bool digit = category == UTF8PROC_CATEGORY_ND;
        bool upper = category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT, lower = category == UTF8PROC_CATEGORY_LL;
        cased = cased || upper || lower;
        if ((strcmp(name, "isdigit") == 0 && !digit) || (strcmp(name, "isspace") == 0 && !character_is_space(character)) ||
            (strcmp(name, "isalpha") == 0 && !letter) || (strcmp(name, "isalnum") == 0 && !letter && !digit) ||
            (strcmp(name, "isupper") == 0 && lower) || (strcmp(name, "islower") == 0 && upper))
            return false;
    }
    return text->length > 0 && (cased || (strcmp(name, "isupper") != 0 && strcmp(name, "islower") != 0));
}

static int64_t count_parts(const struct text *text, const struct text *part)
{
    int64_t count = 0;
    for (int64_t found = text_find(text, part, 0); found >= 0 && part->length > 0;
         found = text_find(text, part, (size_t)found + part->length))
        count++;
    return count;
}

static const struct text *needed_text(struct machine *machine, const struct arguments *arguments, int place, const char *what)
{
    const struct text *text = argument_text(machine, arguments, place, NULL, what);
    if (text == NULL)
        fault_raise(&machine->fault, "%s needs a str", what);
    return text;
}

static struct value character_index(const struct text *text, int64_t byte)
{
    const struct text before = { .bytes = text->bytes, .length = byte > 0 ? (uint32_t)byte : 0 };
    return value_int(byte < 0 ? -1 : (int64_t)text_characters(&before));
}

static struct value text_method(struct machine *machine, const struct text *text, const char *name, const struct arguments *arguments)
{
    struct fault *fault = &machine->fault;
    if (strcmp(name, "strip") == 0 || strcmp(name, "lstrip") == 0 || strcmp(name, "rstrip") == 0) {
        arguments_check(fault, arguments, name, 1, "chars");
        return value_of_text(
            text_strip(machine->pool, text, argument_text(machine, arguments, 0, NULL, name), name[0] != 'r', name[0] != 'l'));
    }
    if (strcmp(name, "split") == 0 || strcmp(name, "rsplit") == 0) {
        arguments_check(fault, arguments, name, 2, "sep", "maxsplit");
        return split(machine, text, argument_text(machine, arguments, 0, "sep", name),
                     argument_int(machine, arguments, 1, "maxsplit", name, -1), name[0] == 'r');
    }
    if (strcmp(name, "splitlines") == 0) {
        arguments_check(fault, arguments, name, 1, "keepends");
        return split_lines(machine, text, argument_int(machine, arguments, 0, "keepends", name, 0) != 0);
    }
    if (strcmp(name, "replace") == 0) {
        arguments_check(fault, arguments, name, 3, "old", "new", "count");
        return value_of_text(text_replace(machine, text, needed_text(machine, arguments, 0, name), needed_text(machine, arguments, 1, name),
                                          argument_int(machine, arguments, 2, "count", name, -1)));
    }
    if (strcmp(name, "join") == 0) {
        arguments_check(fault, arguments, name, 1, "iterable");
        const struct value *items = argument_find(arguments, 0, NULL);
        return text_join(machine, text, value_items(machine, items != NULL ? *items : value_none()), NULL);
    }
    if (strcmp(name, "startswith") == 0 || strcmp(name, "endswith") == 0) {
        arguments_check(fault, arguments, name, 1, "prefix");
        return value_bool(borders(machine, text, arguments, name[0] == 's'));
    }
    if (strcmp(name, "upper") == 0 || strcmp(name, "lower") == 0 || strcmp(name, "title") == 0 || strcmp(name, "capitalize") == 0) {
        arguments_check(fault, arguments, name, 0);
        return value_of_text(text_case(machine, text, (char)(name[0] - 'a' + 'A')));
    }
    if (strncmp(name, "is", 2) == 0) {
        arguments_check(fault, arguments, name, 0);
        return value_bool(all_characters(text, name));
    }
    arguments_check(fault, arguments, name, 1, "part");
    if (strcmp(name, "format") == 0)
        fault_raise(fault, "format is not supported: use ~ or +");
    const struct text *part = needed_text(machine, arguments, 0, name);
    if (strcmp(name, "find") == 0 || strcmp(name, "index") == 0) {
        int64_t byte = text_find(text, part, 0);
        if (byte < 0 && name[0] == 'i')
            fault_raise(fault, "index: the part is not in the str");
        return character_index(text, byte);
    }
    if (strcmp(name, "rfind") == 0)
        return character_index(text, find_last(text, part));
    if (strcmp(name, "count") == 0)
        return value_int(count_parts(text, part));
    bool prefix = strcmp(name, "removeprefix") == 0;
    bool there = part->length <= text->length && text_at(text, prefix ? 0 : text->length - part->length, part);
    size_t begin = prefix && there ? part->length : 0, end = text->length - (!prefix && there ? part->length : 0);
    return value_of_text(text_cut(machine->pool, text, begin, end));
}

/* ---- methods of mappings, lists and loops ---- */

static struct value dict_method(struct machine *machine, const struct dict *dict, const char *name, const struct arguments *arguments)
{
    if (strcmp(name, "get") == 0) {
        arguments_check(&machine->fault, arguments, name, 2, "key", "default");
        const struct value *key = argument_find(arguments, 0, "key"), *otherwise = argument_find(arguments, 1, "default");
        const struct value *found = key != NULL ? dict_find(dict, *key) : NULL;
        return found != NULL ? *found : otherwise != NULL ? *otherwise : value_none();
    }
    arguments_check(&machine->fault, arguments, name, 0);
    struct dict *copy = dict_new(machine->pool);
    struct list *list = list_new(machine->pool, dict->count);
    for (int64_t i = 0; i < dict->count; i++) {
        const struct pair *pair = &dict->pair[i];
        if (strcmp(name, "copy") == 0) {
            dict_set(machine->pool, copy, pair->key, pair->value);
        } else if (strcmp(name, "items") == 0) {
            struct list *both = list_new(machine->pool, 2);
            both->tuple = true;
            both->item[0] = pair->key;
            both->item[1] = pair->value;
            list->item[i] = value_list(both);
        } else {
            list->item[i] = strcmp(name, "keys") == 0 ? pair->key : pair->value;
        }
    }
    return strcmp(name, "copy") == 0 ? value_dict(copy) : value_list(list);
}

static struct value list_method(struct machine *machine, const struct list *list, const char *name, const struct arguments *arguments)
{
    arguments_check(&machine->fault, arguments, name, 1, "value");
    const struct value *wanted = argument_find(arguments, 0, "value");
    int64_t count = 0;
    for (int64_t i = 0; i < list->count && wanted != NULL; i++) {
        if (!value_equal(list->item[i], *wanted))
            continue;
        if (strcmp(name, "index") == 0)
            return value_int(i);
        count++;
    }
    if (strcmp(name, "index") == 0)
        fault_raise(&machine->fault, "index: the value is not in the list");
    return value_int(count);
}

struct value method_call(struct machine *machine, const struct method *method, const struct arguments *arguments)
{
    if (method->self.kind == VALUE_TEXT)
        return text_method(machine, method->self.text, method->name, arguments);
    if (method->self.kind == VALUE_DICT)
        return dict_method(machine, method->self.dict, method->name, arguments);
    if (method->self.kind == VALUE_LIST)
        return list_method(machine, method->self.list, method->name, arguments);
    if (arguments->count == 0)
        fault_raise(&machine->fault, "cycle needs values");
    return arguments->argument[method->self.loop->index % arguments->count].value;
}
