/* split.c: pre-tokenizers: cutting text into words by patterns (tokenizer_inside.h). Build host, one encoder a thread.
 *
 * (1) The reference's patterns are Oniguruma's: \s is Unicode's White_Space there, which PCRE2's is not, so it is written out.
 * (2) Each stage sees a word as if it were the whole text, as the reference does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/tokenizer_inside.h"

#define WHITE_SPACE "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"

/* The pattern with \s and \S written out, inside and outside of classes. \S inside a class has no such form and is refused by NULL. */
static char *translate(const char *pattern)
{
    char *out = memory_take(strlen(pattern) * (sizeof WHITE_SPACE + 4) + 1), *at = out;
    bool inside = false;
    for (const char *p = pattern; *p != '\0'; p++) {
        if (p[0] == '\\' && (p[1] == 's' || p[1] == 'S')) {
            if (inside && p[1] == 'S') {
                free(out);
                return NULL;
            }
            at += sprintf(at, inside ? "%s%s" : p[1] == 's' ? "[%s%s]" : "[^%s%s]", "", WHITE_SPACE);
            p++;
        } else if (p[0] == '\\' && p[1] != '\0') {
            *at++ = *p++;
            *at++ = *p;
        } else {
            inside = inside ? *p != ']' : *p == '[';
            *at++ = *p;
        }
    }
    *at = '\0';
    return out;
}

enum status split_compile(const char *path, const char *pattern, pcre2_code **code)
{
    int error;
    PCRE2_SIZE offset;
    char *translated = translate(pattern);
    if (translated == NULL)
        return fail(E_DATA, "%s: pattern \"%.80s\": \\S inside a class is not supported", path, pattern);
    *code = pcre2_compile((PCRE2_SPTR)translated, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, NULL);
    free(translated);
    if (*code == NULL) {
        PCRE2_UCHAR text[120];
        pcre2_get_error_message(error, text, sizeof text);
        return fail(E_DATA, "%s: pattern \"%.80s\": %s", path, pattern, (char *)text);
    }
    (void)pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);      /* without it matching is slower, the same otherwise */
    return OK;
}

/* Hands piece [begin, end) on to the next stage, or to the model behind the last. */
static enum status pass_on(struct encoder *encoder, size_t begin, size_t end, int32_t stage)
{
    return begin < end ? split_piece(encoder, begin, end, stage + 1) : OK;
}

/* Whether a stretch begins a word of its own behind one that was matched or not. The text begins behind one that was not. */
static bool begins_word(enum split_behaviour behaviour, bool before, bool matched)
{
    switch (behaviour) {
    case SPLIT_WITH_PREVIOUS:
        return before || !matched;
    case SPLIT_WITH_NEXT:
        return matched || !before;
    case SPLIT_CONTIGUOUS:
        return before != matched;
    default:
        return true;
    }
}

/* The word that may still grow: from begin on, its last stretch matched or not. */
struct held {
    size_t begin;
    bool matched;
};

/* One stretch of the text: matched (as the behaviour sees it) or between matches. */
static enum status cut(struct encoder *encoder, const struct splitter *splitter, size_t begin, size_t end, bool matched, struct held *held, int32_t stage)
{
    if (splitter->invert)
        matched = !matched;
    if (begin == end)
        return OK;
    if (begins_word(splitter->behaviour, held->matched, matched)) {
        TRY(pass_on(encoder, held->begin, begin, stage));
        held->begin = begin;
    }
    if (splitter->behaviour == SPLIT_REMOVED && matched)
        held->begin = end;
    held->matched = matched;
    return OK;
}

enum status split_piece(struct encoder *encoder, size_t begin, size_t end, int32_t stage)
{
    if (stage == encoder->tokenizer->splitters) {
        bpe_word(encoder, begin, end);
        return OK;
    }
    const struct splitter *splitter = &encoder->tokenizer->splitter[stage];
    size_t at = begin, from = begin;
    struct held held = { .begin = begin };
    while (from < end) {
        PCRE2_SPTR subject = (PCRE2_SPTR)encoder->piece.bytes + begin;
        int found = pcre2_match(splitter->code, subject, end - begin, from - begin, PCRE2_NO_UTF_CHECK, encoder->match, encoder->context);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0) {
            PCRE2_UCHAR text[120];
            pcre2_get_error_message(found, text, sizeof text);
            return fail(E_DATA, "%s: its pattern gave up at byte %u of a text of %zu bytes: %s", encoder->tokenizer->path, encoder->piece.origin[from],
                        encoder->piece.size, (char *)text);
        }
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(encoder->match);
        size_t match_begin = begin + range[0], match_end = begin + range[1];
        if (match_end == match_begin) {      /* an empty match cuts nothing; go on behind the next character */
            from = match_end + 1;
            while (from < end && ((unsigned char)encoder->piece.bytes[from] & 0xc0) == 0x80)
                from++;
            continue;
        }
        TRY(cut(encoder, splitter, at, match_begin, false, &held, stage));
        TRY(cut(encoder, splitter, match_begin, match_end, true, &held, stage));
        at = from = match_end;
    }
    TRY(cut(encoder, splitter, at, end, false, &held, stage));
    return pass_on(encoder, held.begin, end, stage);
}
