/* jinja_lex.c: a template's source as tokens, white space control already done.
 *
 * The rules are Jinja's with trim_blocks and lstrip_blocks: a line feed behind a tag or comment goes, white space between the start of a
 * line and a tag or comment goes, "-" strips all of it on its side, "+" keeps it; one line feed at the very end goes.
 * (1) Line ends are made \n first. */
#include "tools/pack/jinja_node.h"

#include <errno.h>
#include <stdlib.h>
#include <utf8proc.h>

struct lexer {
    struct pool *pool;
    struct fault *fault;
    struct text source;
    size_t at;
    int line;
    bool line_starting; /* what was taken last ended with a line feed, or nothing was taken yet */
    struct token *token;
    size_t tokens, room;
};

static void put(struct lexer *lexer, enum token_kind kind, const char *text, size_t length, int line)
{
    if (lexer->tokens == lexer->room) {
        lexer->room = lexer->room == 0 ? 256 : lexer->room * 2;
        struct token *grown = pool_take(lexer->pool, lexer->room * sizeof *grown);
        if (lexer->tokens > 0)
            memcpy(grown, lexer->token, lexer->tokens * sizeof *grown);
        lexer->token = grown;
    }
    lexer->token[lexer->tokens++] =
        (struct token){ .kind = kind, .line = line, .text = pool_copy(lexer->pool, text, length), .length = length };
}

static bool ahead(const struct lexer *lexer, const char *word)
{
    size_t length = strlen(word);
    return length <= lexer->source.length - lexer->at && memcmp(lexer->source.bytes + lexer->at, word, length) == 0;
}

/* Moves on to byte to, counting lines. */
static void advance(struct lexer *lexer, size_t to)
{
    for (; lexer->at < to; lexer->at++)
        lexer->line += lexer->source.bytes[lexer->at] == '\n';
}

static size_t skip_space(const struct text *text, size_t at)
{
    int32_t character;
    while (at < text->length) {
        size_t next = text_next(text, at, &character);
        if (!character_is_space(character))
            break;
        at = next;
    }
    return at;
}

static size_t strip_end(const struct text *text, size_t begin, size_t end)
{
    int32_t character;
    while (end > begin) {
        size_t before = text_before(text, end, &character);
        if (!character_is_space(character))
            break;
        end = before;
    }
    return end;
}

/* Where plain text [begin, end) really ends, given the sign (-, + or none) of the tag that follows; lstrips unless the tag is {{. */
static size_t data_end(const struct lexer *lexer, size_t begin, size_t end, char sign, bool shows)
{
    if (sign == '-')
        return strip_end(&lexer->source, begin, end);
    if (sign == '+' || shows)
        return end;
    size_t line = end;
    while (line > begin && lexer->source.bytes[line - 1] != '\n')
        line--;
    if (line == begin && !lexer->line_starting)
        return end;
    return skip_space(&lexer->source, line) >= end ? line : end;
}

/* Behind a closing "-%}" (sign '-'), "+%}" or "%}" at at: what more it takes with it. */
static void close_tag(struct lexer *lexer, char sign, bool trims)
{
    size_t end = lexer->at;
    if (sign == '-')
        end = skip_space(&lexer->source, end);
    else if (sign != '+' && trims && end < lexer->source.length && lexer->source.bytes[end] == '\n')
        end++;
    advance(lexer, end);
    lexer->line_starting = lexer->source.bytes[end - 1] == '\n';
}

static size_t append_utf8(char *out, uint32_t character, struct lexer *lexer)
{
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        fault_raise(lexer->fault, "a string holds U+%04X, which is no character", (unsigned)character);
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)character, (utf8proc_uint8_t *)out);
}

/* A string literal, its escapes as in Python. */
static void lex_string(struct lexer *lexer)
{
    char quote = lexer->source.bytes[lexer->at];
    int line = lexer->line;
    const char *from = lexer->source.bytes + lexer->at + 1, *end = lexer->source.bytes + lexer->source.length;
    const char *close = from;
    while (close < end && *close != quote)
        close += *close == '\\' && close + 1 < end ? 2 : 1;
    if (close >= end)
        fault_raise(lexer->fault, "a string begins and never ends");
    char *out = pool_take(lexer->pool, (size_t)(close - from) + 1);
    size_t used = 0;
    while (from < close) {
        if (*from != '\\') {
            out[used++] = *from++;
            continue;
        }
        static const char letters[] = "ntrabfv\\'\"", meanings[] = "\n\t\r\a\b\f\v\\'\"";
        char letter = from[1];
        const char *known = letter != '\0' ? strchr(letters, letter) : NULL;
        int digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
        from += 2;
        if (known != NULL) {
            out[used++] = meanings[known - letters];
        } else if (letter == '\n') {
            continue;
        } else if (letter >= '0' && letter <= '7') {
            uint32_t character = (uint32_t)(letter - '0');
            for (int i = 0; i < 2 && from < close && *from >= '0' && *from <= '7'; i++)
                character = character * 8 + (uint32_t)(*from++ - '0');
            used += append_utf8(out + used, character, lexer);
        } else if (digits > 0) {
            char number[9] = { 0 };
            if (close - from < digits)
                fault_raise(lexer->fault, "a string holds an escape that is cut short");
            memcpy(number, from, (size_t)digits);
            if (strspn(number, "0123456789abcdefABCDEF") != (size_t)digits)
                fault_raise(lexer->fault, "a string holds \\%c%s, which is no number", letter, number);
            used += append_utf8(out + used, (uint32_t)strtoul(number, NULL, 16), lexer);
            from += digits;
        } else if (letter == 'N') {
            fault_raise(lexer->fault, "a string holds a character by its name, which is not supported");
        } else {
            out[used++] = '\\';
            out[used++] = letter;
        }
    }
    put(lexer, TOKEN_STRING, out, used, line);
    advance(lexer, (size_t)(close + 1 - lexer->source.bytes));
}

static void lex_number(struct lexer *lexer)
{
    char digits[64];
    size_t used = 0, at = lexer->at;
    bool real = false;
    const char *bytes = lexer->source.bytes;
    for (; at < lexer->source.length && used + 1 < sizeof digits; at++) {
        char c = bytes[at], next = at + 1 < lexer->source.length ? bytes[at + 1] : '\0';
        bool digit = c >= '0' && c <= '9', next_digit = next >= '0' && next <= '9';
        if (c == '_' && next_digit)
            continue;
        if (c == '.' && next_digit && !real)
            real = true;
        else if ((c == 'e' || c == 'E') && (next_digit || next == '-' || next == '+'))
            real = true;
        else if (!digit && !((c == '-' || c == '+') && used > 0 && (digits[used - 1] == 'e' || digits[used - 1] == 'E')))
            break;
        digits[used++] = c;
    }
    digits[used] = '\0';
    put(lexer, TOKEN_NUMBER, digits, used, lexer->line);
    char *end = NULL;
    errno = 0;
    struct token *token = &lexer->token[lexer->tokens - 1];
    token->number = real ? value_float(strtod(digits, &end)) : value_int(strtoll(digits, &end, 10));
    if (errno != 0 || *end != '\0')
        fault_raise(lexer->fault, "the number %s cannot be kept", digits);
    advance(lexer, at);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* One name, literal or sign. depth counts open brackets. */
static void lex_inside(struct lexer *lexer, int *depth)
{
    static const char *const signs[] = { "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                         "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";" };
    char c = lexer->source.bytes[lexer->at];
    lexer->fault->line = lexer->line;
    if (is_letter(c)) {
        size_t end = lexer->at;
        while (end < lexer->source.length &&
               (is_letter(lexer->source.bytes[end]) || (lexer->source.bytes[end] >= '0' && lexer->source.bytes[end] <= '9')))
            end++;
        put(lexer, TOKEN_NAME, lexer->source.bytes + lexer->at, end - lexer->at, lexer->line);
        lexer->at = end;
        return;
    }
    if (c >= '0' && c <= '9') {
        lex_number(lexer);
        return;
    }
    if (c == '"' || c == '\'') {
        lex_string(lexer);
        return;
    }
    for (int i = 0; i < ELEMENTS_OF(signs); i++) {
        if (!ahead(lexer, signs[i]))
            continue;
        *depth += strchr("([{", signs[i][0]) != NULL;
        *depth -= strchr(")]}", signs[i][0]) != NULL;
        put(lexer, TOKEN_SIGN, signs[i], strlen(signs[i]), lexer->line);
        lexer->at += strlen(signs[i]);
        return;
    }
    fault_raise(lexer->fault, "the character \"%.*s\" means nothing here", 1, lexer->source.bytes + lexer->at);
}

/* From behind "{{" or "{%" to behind its end. */
static void lex_tag(struct lexer *lexer, bool shows)
{
    const char *end = shows ? "}}" : "%}";
    int depth = 0, line = lexer->line;
    put(lexer, shows ? TOKEN_SHOW : TOKEN_TAG, "", 0, line);
    for (;;) {
        advance(lexer, skip_space(&lexer->source, lexer->at));
        if (lexer->at >= lexer->source.length) {
            lexer->fault->line = line;
            fault_raise(lexer->fault, "\"%s\" begins and \"%s\" never comes", shows ? "{{" : "{%", end);
        }
        char c = lexer->source.bytes[lexer->at];
        char sign = c == '-' || (c == '+' && !shows) ? c : '\0';
        lexer->at += sign != '\0';
        if (depth <= 0 && ahead(lexer, end)) {
            lexer->at += 2;
            put(lexer, shows ? TOKEN_SHOW_END : TOKEN_TAG_END, "", 0, lexer->line);
            close_tag(lexer, sign, !shows);
            return;
        }
        lexer->at -= sign != '\0';
        lex_inside(lexer, &depth);
    }
}

static void lex_comment(struct lexer *lexer)
{
    const struct text end = { .bytes = "#}", .length = 2 };
    int64_t found = text_find(&lexer->source, &end, lexer->at);
    if (found < 0)
        fault_raise(lexer->fault, "a comment begins and \"#}\" never comes");
    char before = (size_t)found > lexer->at ? lexer->source.bytes[found - 1] : '\0';
    advance(lexer, (size_t)found + 2);
    close_tag(lexer, before, true);
}

/* At "{% raw %}" or "{% endraw %}" at byte at: the byte behind it, else 0. The signs of both ends are given back. */
static size_t raw_tag(const struct lexer *lexer, size_t at, const char *word, char *sign, char *sign_end)
{
    const struct text *source = &lexer->source;
    if (source->length - at < 2 || memcmp(source->bytes + at, "{%", 2) != 0)
        return 0;
    at += 2;
    *sign = at < source->length && (source->bytes[at] == '-' || source->bytes[at] == '+') ? source->bytes[at] : '\0';
    at = skip_space(source, at + (*sign != '\0'));
    size_t length = strlen(word);
    if (source->length - at < length || memcmp(source->bytes + at, word, length) != 0)
        return 0;
    at = skip_space(source, at + length);
    *sign_end = at < source->length && (source->bytes[at] == '-' || source->bytes[at] == '+') ? source->bytes[at] : '\0';
    at += *sign_end != '\0';
    return source->length - at >= 2 && memcmp(source->bytes + at, "%}", 2) == 0 ? at + 2 : 0;
}

/* From behind {% raw %} to behind {% endraw %}: plain text. */
static void lex_raw(struct lexer *lexer)
{
    size_t begin = lexer->at;
    int line = lexer->line;
    for (size_t at = begin; at < lexer->source.length; at++) {
        char sign, sign_end;
        size_t behind = raw_tag(lexer, at, "endraw", &sign, &sign_end);
        if (behind == 0)
            continue;
        put(lexer, TOKEN_DATA, lexer->source.bytes + begin, data_end(lexer, begin, at, sign, false) - begin, line);
        advance(lexer, behind);
        close_tag(lexer, sign_end, true);
        return;
    }
    fault_raise(lexer->fault, "{%% raw %%} begins and {%% endraw %%} never comes");
}

static void lex_all(struct lexer *lexer)
{
    const char *bytes = lexer->source.bytes;
    while (lexer->at < lexer->source.length) {
        size_t begin = lexer->at, end = begin;
        while (end < lexer->source.length &&
               !(bytes[end] == '{' && end + 1 < lexer->source.length && strchr("{%#", bytes[end + 1]) != NULL && bytes[end + 1] != '\0'))
            end++;
        int line = lexer->line;
        if (end == lexer->source.length) {
            put(lexer, TOKEN_DATA, bytes + begin, end - begin, line);
            advance(lexer, end);
            break;
        }
        char kind = bytes[end + 1], sign = end + 2 < lexer->source.length ? bytes[end + 2] : '\0', raw_sign, raw_end;
        sign = sign == '-' || sign == '+' ? sign : '\0';
        size_t real_end = data_end(lexer, begin, end, sign, kind == '{');
        if (real_end > begin)
            put(lexer, TOKEN_DATA, bytes + begin, real_end - begin, line);
        advance(lexer, end);
        lexer->fault->line = lexer->line;
        size_t raw = raw_tag(lexer, end, "raw", &raw_sign, &raw_end);
        if (raw > 0) {
            advance(lexer, raw);
            close_tag(lexer, raw_end, false);
            lex_raw(lexer);
            continue;
        }
        lexer->at += 2 + (sign != '\0');
        if (kind == '#')
            lex_comment(lexer);
        else
            lex_tag(lexer, kind == '{');
    }
    put(lexer, TOKEN_END, "", 0, lexer->line);
}

const struct token *jinja_tokens(struct pool *pool, struct fault *fault, const char *source, size_t bytes)
{
    struct lexer lexer = { .pool = pool, .fault = fault, .line = 1, .line_starting = true };
    char *copy = pool_take(pool, bytes + 1);
    size_t used = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (source[i] == '\r') {
            copy[used++] = '\n';
            i += i + 1 < bytes && source[i + 1] == '\n';
        } else {
            copy[used++] = source[i];
        }
    }
    if (used > 0 && copy[used - 1] == '\n')
        used--;
    fault->line = 1;
    int32_t character;
    for (size_t at = 0; at < used;) {
        utf8proc_ssize_t length = utf8proc_iterate((const uint8_t *)copy + at, (utf8proc_ssize_t)(used - at), &character);
        if (length <= 0 || used > UINT32_MAX)
            fault_raise(fault, "byte %zu is no valid UTF-8", at);
        at += (size_t)length;
    }
    lexer.source = (struct text){ .bytes = copy, .length = (uint32_t)used };
    lex_all(&lexer);
    return lexer.token;
}
