/* jinja_print.c: values as text: as {{ }} shows them (Python's str and repr) and as JSON (json.dumps without ASCII escapes). */
#include "tools/pack/jinja_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

enum { PRINT_DEPTH_MOST = 200 };

/* The shortest digits that give the number back, in Python's form: 1.0, 1e+16, 1.5e-05. */
static void print_real(struct builder *builder, double real)
{
    char digits[40], text[48];
    if (isnan(real) || isinf(real)) {
        builder_word(builder, isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
        return;
    }
    int precision = 1;
    do
        snprintf(digits, sizeof digits, "%.*e", precision - 1, real);
    while (strtod(digits, NULL) != real && precision++ < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        builder_word(builder, digits);
        return;
    }
    int decimals = precision - 1 - exponent;
    snprintf(text, sizeof text, "%.*f", decimals > 1 ? decimals : 1, real);
    builder_word(builder, text);
}

static void print_whole(struct builder *builder, int64_t whole)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, whole);
    builder_word(builder, text);
}

/* Characters that repr writes as an escape. */
static bool unprintable(int32_t character)
{
    utf8proc_category_t category = utf8proc_category(character);
    return character != ' ' && (category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_ZS);
}

static void print_repr_text(struct builder *builder, const struct text *text)
{
    bool single = memchr(text->bytes, '\'', text->length) != NULL, twice = memchr(text->bytes, '"', text->length) != NULL;
    char quote = single && !twice ? '"' : '\'';
    builder_bytes(builder, &quote, 1);
    int32_t character;
    for (size_t at = 0; at < text->length;) {
        size_t next = text_next(text, at, &character);
        char escape[16] = { 0 };
        if (character == quote || character == '\\')
            snprintf(escape, sizeof escape, "\\%c", (char)character);
        else if (character == '\n' || character == '\r' || character == '\t')
            snprintf(escape, sizeof escape, "\\%c", character == '\n' ? 'n' : character == '\r' ? 'r' : 't');
        else if (unprintable(character))
            snprintf(escape, sizeof escape,
                     character < 0x100     ? "\\x%02x"
                     : character < 0x10000 ? "\\u%04x"
                                           : "\\U%08x",
                     (unsigned)character);
        if (escape[0] != '\0')
            builder_byte_as(builder, escape, strlen(escape), text_origin(text, at));
        else
            builder_byte_as(builder, text->bytes + at, next - at, text_origin(text, at));
        at = next;
    }
    builder_bytes(builder, &quote, 1);
}

void print_repr(struct builder *builder, struct value value, int depth)
{
    char text[32];
    if (depth > PRINT_DEPTH_MOST)
        fault_raise(builder->fault, "a value of more than %d levels", PRINT_DEPTH_MOST);
    switch (value.kind) {
    case VALUE_UNDEFINED:
        builder_word(builder, "Undefined");
        break;
    case VALUE_NONE:
        builder_word(builder, "None");
        break;
    case VALUE_BOOL:
        builder_word(builder, value.truth ? "True" : "False");
        break;
    case VALUE_INT:
        print_whole(builder, value.whole);
        break;
    case VALUE_FLOAT:
        print_real(builder, value.real);
        break;
    case VALUE_TEXT:
        print_repr_text(builder, value.text);
        break;
    case VALUE_LIST:
        builder_word(builder, value.list->tuple ? "(" : "[");
        for (int64_t i = 0; i < value.list->count; i++) {
            if (i > 0)
                builder_word(builder, ", ");
            print_repr(builder, value.list->item[i], depth + 1);
        }
        builder_word(builder, value.list->tuple ? value.list->count == 1 ? ",)" : ")" : "]");
        break;
    case VALUE_DICT:
        builder_word(builder, "{");
        for (int64_t i = 0; i < value.dict->count; i++) {
            if (i > 0)
                builder_word(builder, ", ");
            print_repr(builder, value.dict->pair[i].key, depth + 1);
            builder_word(builder, ": ");
            print_repr(builder, value.dict->pair[i].value, depth + 1);
        }
        builder_word(builder, "}");
        break;
    default:
        snprintf(text, sizeof text, "%s", value_kind_name(&value));
        fault_raise(builder->fault, "a %s cannot be written", text);
    }
}

void print_value(struct builder *builder, struct value value)
{
    if (value.kind == VALUE_TEXT)
        builder_text(builder, value.text);
    else if (value.kind != VALUE_UNDEFINED)
        print_repr(builder, value, 0);
}

static void print_json_text(struct builder *builder, const struct text *text)
{
    builder_word(builder, "\"");
    for (size_t at = 0; at < text->length; at++) {
        static const char letters[] = "\"\\\n\r\t\b\f", meanings[] = "\"\\nrtbf";
        unsigned char byte = (unsigned char)text->bytes[at];
        const char *known = byte != '\0' ? strchr(letters, byte) : NULL;
        char escape[8] = { (char)byte, '\0' };
        if (known != NULL)
            snprintf(escape, sizeof escape, "\\%c", meanings[known - letters]);
        else if (byte < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", byte);
        builder_byte_as(builder, escape, strlen(escape), text_origin(text, at));
    }
    builder_word(builder, "\"");
}

static void new_line(struct builder *builder, int indent, int depth)
{
    if (indent < 0)
        return;
    builder_word(builder, "\n");
    for (int i = 0; i < indent * depth; i++)
        builder_word(builder, " ");
}

static int by_key(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;
    struct jinja_error error;
    struct fault fault = { .error = &error };
    return one->key.kind == VALUE_TEXT && two->key.kind == VALUE_TEXT ? value_compare(&fault, one->key, two->key) : 0;
}

static void print_json_dict(struct machine *machine, struct builder *builder, const struct dict *dict, int indent, int depth, bool sorted,
                            const char *comma, const char *colon)
{
    struct pair *pair = pool_take(machine->pool, (size_t)dict->count * sizeof *pair);
    for (int64_t i = 0; i < dict->count; i++)
        pair[i] = dict->pair[i];
    if (sorted)
        qsort(pair, (size_t)dict->count, sizeof *pair, by_key);
    builder_word(builder, "{");
    for (int64_t i = 0; i < dict->count; i++) {
        if (i > 0)
            builder_word(builder, comma);
        new_line(builder, indent, depth + 1);
        if (pair[i].key.kind == VALUE_TEXT) {
            print_json_text(builder, pair[i].key.text);
        } else {
            builder_word(builder, "\"");
            print_json(machine, builder, pair[i].key, -1, depth + 1, false, comma, colon);
            builder_word(builder, "\"");
        }
        builder_word(builder, colon);
        print_json(machine, builder, pair[i].value, indent, depth + 1, sorted, comma, colon);
    }
    if (dict->count > 0)
        new_line(builder, indent, depth);
    builder_word(builder, "}");
}

void print_json(struct machine *machine, struct builder *builder, struct value value, int indent, int depth, bool sorted, const char *comma,
                const char *colon)
{
    machine_step(machine);
    if (depth > PRINT_DEPTH_MOST)
        fault_raise(&machine->fault, "tojson: more than %d levels", PRINT_DEPTH_MOST);
    switch (value.kind) {
    case VALUE_NONE:
        builder_word(builder, "null");
        break;
    case VALUE_BOOL:
        builder_word(builder, value.truth ? "true" : "false");
        break;
    case VALUE_INT:
        print_whole(builder, value.whole);
        break;
    case VALUE_FLOAT:
        if (isnan(value.real) || isinf(value.real))
            builder_word(builder, isnan(value.real) ? "NaN" : value.real < 0 ? "-Infinity" : "Infinity");
        else
            print_real(builder, value.real);
        break;
    case VALUE_TEXT:
        print_json_text(builder, value.text);
        break;
    case VALUE_LIST:
        builder_word(builder, "[");
        for (int64_t i = 0; i < value.list->count; i++) {
            if (i > 0)
                builder_word(builder, comma);
            new_line(builder, indent, depth + 1);
            print_json(machine, builder, value.list->item[i], indent, depth + 1, sorted, comma, colon);
        }
        if (value.list->count > 0)
            new_line(builder, indent, depth);
        builder_word(builder, "]");
        break;
    case VALUE_DICT:
        print_json_dict(machine, builder, value.dict, indent, depth, sorted, comma, colon);
        break;
    default:
        fault_raise(&machine->fault, "tojson: '%s' is no JSON", value.kind == VALUE_UNDEFINED ? value.name : value_kind_name(&value));
    }
}
