/* unicode.c: the Unicode forms of a text (tokenizer_inside.h). Build host.
 *
 * Decomposing, composing and the tables are utf8proc's. Its canonical ordering moves a mark past its neighbours one by one, which takes the square
 * of the marks on one letter; here (1) marks are ordered by counting their classes, in time linear in the text.
 * Source: Unicode 15, section 3.11: D108, D109 (stable order by combining class between starters). */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tools/pack/tokenizer_inside.h"

enum { FEW_MARKS = 16, CLASSES = 256, DECOMPOSED_MOST = 32 };      /* no character decomposes into more than 18 */

static int class_of(utf8proc_int32_t character)
{
    return character < 0x300 ? 0 : utf8proc_get_property(character)->combining_class;
}

static void order_few(utf8proc_int32_t *mark, int64_t marks)
{
    for (int64_t i = 1; i < marks; i++) {
        utf8proc_int32_t moved = mark[i];
        int64_t at = i;
        for (; at > 0 && class_of(mark[at - 1]) > class_of(moved); at--)
            mark[at] = mark[at - 1];
        mark[at] = moved;
    }
}

static void order_many(utf8proc_int32_t *mark, int64_t marks)
{
    int64_t next[CLASSES + 1] = { 0 };
    utf8proc_int32_t *copy = memory_take((size_t)marks * sizeof *copy);
    memcpy(copy, mark, (size_t)marks * sizeof *copy);
    for (int64_t i = 0; i < marks; i++)
        next[class_of(copy[i]) + 1]++;
    for (int c = 0; c < CLASSES; c++)
        next[c + 1] += next[c];
    for (int64_t i = 0; i < marks; i++)
        mark[next[class_of(copy[i])]++] = copy[i];
    free(copy);
}

static void order(utf8proc_int32_t *character, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        int64_t end = at;
        while (end < count && class_of(character[end]) != 0)
            end++;
        if (end - at > FEW_MARKS)
            order_many(character + at, end - at);
        else if (end - at > 1)
            order_few(character + at, end - at);
        at = end + 1;
    }
}

size_t unicode_form_of(const char *text, size_t bytes, int options, char **form)
{
    int64_t count = 0, reserved = (int64_t)bytes + DECOMPOSED_MOST;
    utf8proc_int32_t *character = memory_take((size_t)reserved * sizeof *character), c;
    for (size_t at = 0; at < bytes;) {
        int boundary = 0;
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(bytes - at), &c);
        if (reserved - count < DECOMPOSED_MOST) {
            reserved *= 2;
            character = memory_grow(character, (size_t)reserved * sizeof *character);
        }
        utf8proc_ssize_t parts = utf8proc_decompose_char(c, character + count, DECOMPOSED_MOST, (utf8proc_option_t)options, &boundary);
        ASSERT(parts > 0 && parts <= DECOMPOSED_MOST);
        count += parts;
    }
    order(character, count);
    /* utf8proc writes the text over the characters, and may need a byte behind them: a character takes four bytes at most. */
    character = memory_grow(character, (size_t)(count + 1) * sizeof *character);
    utf8proc_ssize_t size = utf8proc_reencode(character, count, (utf8proc_option_t)options);
    ASSERT(size >= 0);
    *form = (char *)character;
    return (size_t)size;
}
