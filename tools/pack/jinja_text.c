/* jinja_text.c: texts whose bytes know where they came from: building, cutting, finding; see jinja.h, "where text comes from".
 *
 * (1) A text without runs is all of the template; else its first run begins at 0.
 * (2) A cut keeps the marks on its edges and, where nothing is left, the origin of what was there: an answer that strips to nothing
 *     still has its place. */
#include "tools/pack/jinja_value.h"

#include <utf8proc.h>

struct builder builder_new(struct machine *machine)
{
    return (struct builder){ .pool = machine->pool, .fault = &machine->fault };
}

static void builder_reserve(struct builder *builder, size_t bytes)
{
    if (bytes > UINT32_MAX - builder->length - 1)
        fault_raise(builder->fault, "the text grows beyond 4 GiB");
    if (builder->length + bytes <= builder->room)
        return;
    size_t room = builder->room < 128 ? 256 : builder->room * 2;
    if (room < builder->length + bytes)
        room = builder->length + bytes;
    char *grown = pool_take(builder->pool, room);
    if (builder->length > 0)
        memcpy(grown, builder->bytes, builder->length);
    builder->bytes = grown;
    builder->room = room;
}

static bool is_mark(uint32_t origin)
{
    return ORIGIN_PART(origin) >= ORIGIN_BEGIN;
}

static void builder_run(struct builder *builder, uint32_t origin)
{
    if (builder->runs == 0 && builder->length > 0 && origin != ORIGIN_TEMPLATE)
        builder_run(builder, ORIGIN_TEMPLATE);
    if (builder->runs > 0 && builder->run[builder->runs - 1].origin == origin && !is_mark(origin))
        return;
    if (builder->runs == 0 && origin == ORIGIN_TEMPLATE && builder->length > 0) {
        /* The text so far was the template's without saying so. */
    } else if (builder->runs == 0 && origin == ORIGIN_TEMPLATE) {
        return;
    }
    if (builder->runs == builder->runs_room) {
        size_t room = builder->runs_room == 0 ? 16 : builder->runs_room * 2;
        struct run *grown = pool_take(builder->pool, room * sizeof *grown);
        if (builder->runs > 0)
            memcpy(grown, builder->run, builder->runs * sizeof *grown);
        builder->run = grown;
        builder->runs_room = room;
    }
    uint32_t begin = builder->runs == 0 ? 0 : (uint32_t)builder->length;
    builder->run[builder->runs++] = (struct run){ begin, origin };
}

static void builder_copy(struct builder *builder, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    builder_reserve(builder, length);
    memcpy(builder->bytes + builder->length, bytes, length);
    builder->length += length;
}

void builder_byte_as(struct builder *builder, const char *bytes, size_t length, uint32_t origin)
{
    if (builder->runs > 0 || origin != ORIGIN_TEMPLATE)
        builder_run(builder, origin);
    builder_copy(builder, bytes, length);
}

void builder_bytes(struct builder *builder, const char *bytes, size_t length)
{
    if (length > 0)
        builder_byte_as(builder, bytes, length, ORIGIN_TEMPLATE);
}

void builder_word(struct builder *builder, const char *word)
{
    builder_bytes(builder, word, strlen(word));
}

void builder_mark(struct builder *builder, uint32_t origin)
{
    builder_run(builder, origin);
}

void builder_text(struct builder *builder, const struct text *text)
{
    if (text->runs == 0) {
        builder_bytes(builder, text->bytes, text->length);
        return;
    }
    for (uint32_t r = 0; r < text->runs; r++) {
        uint32_t end = r + 1 < text->runs ? text->run[r + 1].begin : text->length;
        uint32_t begin = text->run[r].begin;
        if (begin == end && text->run[r].origin == ORIGIN_TEMPLATE)
            continue;
        builder_byte_as(builder, text->bytes + begin, end - begin, text->run[r].origin);
    }
}

const struct text *builder_done(struct builder *builder)
{
    struct text *text = pool_take(builder->pool, sizeof *text);
    builder_reserve(builder, 1);
    builder->bytes[builder->length] = '\0';
    *text = (struct text){ builder->bytes, (uint32_t)builder->length, (uint32_t)builder->runs, builder->run };
    return text;
}

const struct text *text_cut(struct pool *pool, const struct text *text, size_t begin, size_t end)
{
    struct text *cut = pool_take(pool, sizeof *cut);
    cut->bytes = text->bytes + begin;
    cut->length = (uint32_t)(end - begin);
    if (text->runs == 0)
        return cut;
    struct run *run = pool_take(pool, text->runs * sizeof *run);
    bool all_template = true;
    for (uint32_t r = 0; r < text->runs; r++) {
        uint32_t from = text->run[r].begin, to = r + 1 < text->runs ? text->run[r + 1].begin : text->length;
        bool kept = from == to || begin == end ? from <= end && to >= begin : from < end && to > begin;
        if (!kept)
            continue;
        run[cut->runs++] = (struct run){ from > begin ? (uint32_t)(from - begin) : 0, text->run[r].origin };
        all_template = all_template && text->run[r].origin == ORIGIN_TEMPLATE;
    }
    if (all_template)
        cut->runs = 0;
    cut->run = run;
    return cut;
}

uint32_t text_origin(const struct text *text, size_t byte)
{
    uint32_t low = 0, high = text->runs; /* the first run that begins behind byte */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (text->run[middle].begin <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? text->run[low - 1].origin : ORIGIN_TEMPLATE;
}

/* Texts are valid UTF-8: they come from JSON, and templates are checked when they are opened. */
size_t text_next(const struct text *text, size_t byte, int32_t *character)
{
    utf8proc_ssize_t used = utf8proc_iterate((const uint8_t *)text->bytes + byte, (utf8proc_ssize_t)(text->length - byte), character);
    return byte + (used > 0 ? (size_t)used : 1);
}

size_t text_before(const struct text *text, size_t byte, int32_t *character)
{
    do
        byte--;
    while (byte > 0 && ((unsigned char)text->bytes[byte] & 0xc0) == 0x80);
    text_next(text, byte, character);
    return byte;
}

bool character_is_space(int32_t character)
{
    const utf8proc_property_t *property = utf8proc_get_property(character);
    return property->bidi_class == UTF8PROC_BIDI_CLASS_WS || property->bidi_class == UTF8PROC_BIDI_CLASS_B ||
           property->bidi_class == UTF8PROC_BIDI_CLASS_S || property->category == UTF8PROC_CATEGORY_ZS;
}

size_t text_characters(const struct text *text)
{
    size_t count = 0;
    for (uint32_t i = 0; i < text->length; i++)
        count += ((unsigned char)text->bytes[i] & 0xc0) != 0x80;
    return count;
}

size_t text_byte_of(const struct text *text, size_t character)
{
    size_t byte = 0;
    for (; byte < text->length; byte++)
        if (((unsigned char)text->bytes[byte] & 0xc0) != 0x80 && character-- == 0)
            break;
    return byte;
}

int64_t text_find(const struct text *text, const struct text *part, size_t from)
{
    if (from > text->length || part->length > text->length - from)
        return -1;
    if (part->length == 0)
        return (int64_t)from;
    const char *found = memmem(text->bytes + from, text->length - from, part->bytes, part->length);
    return found == NULL ? -1 : found - text->bytes;
}

bool text_at(const struct text *text, size_t byte, const struct text *part)
{
    return byte <= text->length && part->length <= text->length - byte && memcmp(text->bytes + byte, part->bytes, part->length) == 0;
}

bool text_is(const struct text *text, const char *word)
{
    return strlen(word) == text->length && memcmp(text->bytes, word, text->length) == 0;
}
