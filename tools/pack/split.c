/* split.c: pre-tokenizers: cutting text into words by patterns (tokenizer_inside.h). Build host, one encoder a thread.
 *
 * (1) The reference's patterns are Oniguruma's, in Ruby's syntax: what means another thing to PCRE2 is written out, or refused.
 * (2) Each stage sees a word as if it were the whole text, as the reference does. */
#include <stdlib.h>
#include <string.h>

#include "tools/pack/tokenizer_inside.h"

/* What a class of Oniguruma's holds. */
#define WHITE_SPACE "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define WORDS       "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define NUMBERS     "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}"      /* of words as well, but neither in a class nor for \b */
#define HEX         "0-9A-Fa-f"

/* An escape that means another thing to PCRE2: what to write for it outside of a class, and in one; NULL: has no such form. */
static const struct escape {
    char letter;
    const char *outside, *inside;
} escapes[] = {
    { 's', "[" WHITE_SPACE "]", WHITE_SPACE },
    { 'S', "[^" WHITE_SPACE "]", NULL },
    { 'w', "[" WORDS NUMBERS "]", WORDS },
    { 'W', "[^" WORDS NUMBERS "]", NULL },
    { 'b', "(?:(?<=[" WORDS "])(?![" WORDS "])|(?<![" WORDS "])(?=[" WORDS "]))", "\\x{8}" },
    { 'B', "(?:(?<=[" WORDS "])(?=[" WORDS "])|(?<![" WORDS "])(?![" WORDS "]))", NULL },
    { 'h', "[" HEX "]", HEX },
    { 'H', "[^" HEX "]", NULL },
    { 'v', "\\x{B}", "\\x{B}" },
    { 'V', NULL, NULL },
    { 'X', NULL, NULL },
};

struct translation {
    char *text;
    size_t size, reserved;
    const char *fault;      /* what of the pattern has no form in PCRE2, and where */
    int fault_bytes;
};

static void write_text(struct translation *to, const char *text, size_t size)
{
    if (to->size + size + 1 > to->reserved) {
        to->reserved = 2 * (to->size + size) + 256;
        to->text = memory_grow(to->text, to->reserved);
    }
    memcpy(to->text + to->size, text, size);
    to->size += size;
    to->text[to->size] = '\0';
}

static void fault(struct translation *to, const char *at, int bytes)
{
    to->fault = at;
    to->fault_bytes = bytes;
}

/* An escape; returns what is behind it. \p{..} and \x{..} go as they are. */
static const char *translate_escape(struct translation *to, const char *p, bool inside)
{
    const char *end = p + (p[1] == '\0' ? 1 : 2), *brace = p[1] != '\0' && strchr("pPxokg", p[1]) != NULL && p[2] == '{' ? strchr(p, '}') : NULL;
    for (int64_t i = 0; i < ELEMENTS_OF(escapes); i++)
        if (p[1] == escapes[i].letter) {
            const char *text = inside ? escapes[i].inside : escapes[i].outside;
            if (text == NULL)
                fault(to, p, 2);
            else
                write_text(to, text, strlen(text));
            return end;
        }
    end = brace != NULL ? brace + 1 : end;
    write_text(to, p, (size_t)(end - p));
    return end;
}

/* From "[" to behind its "]". A class within a class and "&&" are Oniguruma's own. */
static const char *translate_class(struct translation *to, const char *p)
{
    const char *first = p + (p[1] == '^' ? 2 : 1);
    write_text(to, p, (size_t)(first - p));
    for (p = first; *p != '\0' && to->fault == NULL && (*p != ']' || p == first);) {
        if (*p == '[' || (p[0] == '&' && p[1] == '&')) {
            fault(to, p, 2);
        } else if (*p == '\\') {
            p = translate_escape(to, p, true);
        } else {
            write_text(to, p++, 1);
        }
    }
    write_text(to, p, *p == '\0' ? 0 : 1);
    return *p == '\0' ? p : p + 1;
}

/* "(?im-x" up to ")" or ":": m is what PCRE2 calls s. Returns what is behind the letters. */
static const char *translate_flags(struct translation *to, const char *p)
{
    size_t letters = strspn(p + 2, "imx-");
    bool flags = letters > 0 && (p[2 + letters] == ')' || p[2 + letters] == ':');
    write_text(to, p, 2);
    for (p += 2; flags && letters > 0; letters--, p++)
        write_text(to, *p == 'm' ? "s" : p, 1);
    return p;
}

/* The pattern as PCRE2 reads it. */
static void translate(struct translation *to, const char *p)
{
    write_text(to, "", 0);
    while (*p != '\0' && to->fault == NULL) {
        size_t interval = *p == '{' ? 1 + strspn(p + 1, "0123456789,") : 0;
        if (*p == '\\') {
            p = translate_escape(to, p, false);
        } else if (*p == '[') {
            p = translate_class(to, p);
        } else if (p[0] == '(' && p[1] == '?') {
            p = translate_flags(to, p);
        } else if (interval > 1 && p[interval] == '}' && p[interval + 1] == '+') {
            fault(to, p, (int)interval + 2);      /* PCRE2 would not give back what it took */
        } else {
            write_text(to, p++, 1);
        }
    }
}

enum status split_compile(const char *path, const char *pattern, pcre2_code **code)
{
    int error;
    PCRE2_SIZE offset;
    struct translation translation = { 0 };
    translate(&translation, pattern);
    if (translation.fault != NULL) {
        free(translation.text);
        return fail(E_DATA, "%s: pattern \"%.80s\": \"%.*s\" at byte %d is not supported", path, pattern, translation.fault_bytes, translation.fault,
                    (int)(translation.fault - pattern));
    }
    *code = pcre2_compile((PCRE2_SPTR)translation.text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                          &offset, NULL);
    free(translation.text);
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

/* One stretch of the text: matched (as the behaviour sees it; it may be empty) or between matches. */
static enum status cut(struct encoder *encoder, const struct splitter *splitter, size_t begin, size_t end, bool matched, struct held *held, int32_t stage)
{
    if (splitter->invert)
        matched = !matched;
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
    size_t at = begin, from = begin, last = SIZE_MAX;      /* where the last match ended */
    struct held held = { .begin = begin };
    while (from <= end) {
        PCRE2_SPTR subject = (PCRE2_SPTR)encoder->piece.bytes + begin;
        int found = pcre2_match(splitter->code, subject, end - begin, from - begin, PCRE2_NO_UTF_CHECK, encoder->match, encoder->context);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0) {
            PCRE2_UCHAR text[120];
            pcre2_get_error_message(found, text, sizeof text);
            return fail(E_DATA, "%s: its pattern gave up at byte %u of a text of %zu bytes: %s", encoder->tokenizer->path,
                        encoder->piece.origin[from < end ? from : begin], encoder->piece.size, (char *)text);
        }
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(encoder->match);
        size_t match_begin = begin + range[0], match_end = begin + range[1];
        if (match_end == match_begin && match_end == last) {      /* an empty match behind another is none: on behind the next character */
            from++;
            while (from < end && ((unsigned char)encoder->piece.bytes[from] & 0xc0) == 0x80)
                from++;
            continue;
        }
        if (at < match_begin)
            TRY(cut(encoder, splitter, at, match_begin, false, &held, stage));
        TRY(cut(encoder, splitter, match_begin, match_end, true, &held, stage));
        at = from = last = match_end;
    }
    if (at < end)
        TRY(cut(encoder, splitter, at, end, false, &held, stage));
    return pass_on(encoder, held.begin, end, stage);
}
