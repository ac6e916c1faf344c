/* tokenizer.c: reads tokenizer.json (tokenizer.h). Build host.
 *
 * (1) What is not known is an error that names it: a type or option passed over in silence gives other ids. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tools/pack/known.h"
#include "tools/pack/source.h"
#include "tools/pack/tokenizer_inside.h"

enum { TOKENS_MOST = 1 << 24, IDS_A_TOKEN = 4, IDS_SPARE = 1000, SHOWN = 80, FILE_BYTES_MOST = 256 << 20 };      /* the largest published file has 40 MB */

static bool is_absent(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value);
}

/* ---- bytes and their stand-ins ---- */

/* GPT-2 writes a byte as itself where it is printable Latin-1, the others as U+0100 and up in order. */
static bool is_plain_byte(int byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

static int byte_of(utf8proc_int32_t character)
{
    if (character < 0x100)
        return is_plain_byte(character) ? character : -1;
    for (int byte = 0, next = 0x100; byte < 0x100; byte++)
        if (!is_plain_byte(byte) && next++ == character)
            return byte;
    return -1;
}

int64_t bytes_of(const char *text, char *out)
{
    static int16_t table[0x200];
    static bool made;
    if (!made)
        for (int c = 0; c < 0x200; c++)
            table[c] = (int16_t)byte_of(c);
    made = true;
    int64_t count = 0;
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        utf8proc_int32_t character;
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &character);
        if (character < 0 || character >= 0x200 || table[character] < 0)
            return -1;
        out[count++] = (char)table[character];
    }
    return count;
}

/* ---- vocabulary and merges ---- */

static enum status read_vocabulary(struct tokenizer *tokenizer, json_t *vocab)
{
    const char *text;
    json_t *value;
    size_t bytes = 1, pool_at = 0, longest = 0;
    json_int_t largest = -1;
    if (!json_is_object(vocab) || json_object_size(vocab) == 0)
        return fail(E_DATA, "%s: model.vocab is no object, or empty", tokenizer->path);
    json_object_foreach(vocab, text, value) {
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= tokenizer->ids_most)
            return fail(E_DATA, "%s: model.vocab: \"%.*s\" has no id from 0 to %" PRId32 " (%d for each token and %d)", tokenizer->path, SHOWN, text,
                        tokenizer->ids_most - 1, IDS_A_TOKEN, IDS_SPARE);
        largest = json_integer_value(value) > largest ? json_integer_value(value) : largest;
        bytes += strlen(text);
        longest = strlen(text) > longest ? strlen(text) : longest;
    }
    char *raw = memory_take(longest + 1);
    vocabulary_open(&tokenizer->vocabulary, (int32_t)largest + 1, bytes);
    enum status status = OK;
    json_object_foreach(vocab, text, value) {
        int32_t id = (int32_t)json_integer_value(value);
        if (status == OK && tokenizer->vocabulary.token[id].bytes != NULL)
            status = fail(E_DATA, "%s: model.vocab: two tokens have id %" PRId32 ", one is \"%.*s\"", tokenizer->path, id, SHOWN, text);
        int64_t size = tokenizer->byte_level ? bytes_of(text, raw) : -1;
        if (status == OK)
            vocabulary_add(&tokenizer->vocabulary, id, size >= 0 ? raw : text, size >= 0 ? (size_t)size : strlen(text), !tokenizer->byte_level || size >= 0,
                           &pool_at);
    }
    free(raw);
    return status;
}

/* Id of a part of a merge, as the file writes it. */
static int32_t part_id(const struct tokenizer *tokenizer, const char *text, size_t size, char *raw)
{
    char *copy = raw + size + 1;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (!tokenizer->byte_level)
        return vocabulary_find(&tokenizer->vocabulary, copy, size);
    int64_t bytes = bytes_of(copy, raw);
    return bytes < 0 ? -1 : vocabulary_find(&tokenizer->vocabulary, raw, (size_t)bytes);
}

static enum status read_merge(struct tokenizer *tokenizer, json_t *entry, int32_t rank)
{
    const char *left = json_string_value(json_array_get(entry, 0)), *right = json_string_value(json_array_get(entry, 1));
    size_t left_size;
    if (json_is_string(entry)) {
        left = json_string_value(entry);
        right = strchr(left, ' ');
        left_size = right == NULL ? 0 : (size_t)(right - left);
        right = right == NULL || strchr(right + 1, ' ') != NULL ? NULL : right + 1;
    } else {
        left_size = left == NULL ? 0 : strlen(left);
    }
    if (left == NULL || right == NULL || left_size == 0 || right[0] == '\0')
        return fail(E_DATA, "%s: merge %" PRId32 " is neither \"a b\" nor [\"a\", \"b\"]", tokenizer->path, rank + 1);
    size_t right_size = strlen(right);
    char *raw = memory_take(2 * (left_size + right_size + 2));
    int32_t a = part_id(tokenizer, left, left_size, raw), b = part_id(tokenizer, right, right_size, raw), whole = -1;
    if (a >= 0 && b >= 0) {
        const struct text *x = &tokenizer->vocabulary.token[a], *y = &tokenizer->vocabulary.token[b];
        char *both = memory_take(x->size + y->size + 1);
        memcpy(both, x->bytes, x->size);
        memcpy(both + x->size, y->bytes, y->size);
        whole = vocabulary_find(&tokenizer->vocabulary, both, x->size + y->size);
        free(both);
    }
    free(raw);
    if (a < 0 || b < 0 || whole < 0)
        return fail(E_DATA, "%s: merge %" PRId32 ", \"%.*s\" with \"%.*s\": %s is not in the vocabulary", tokenizer->path, rank + 1, (int)left_size, left,
                    SHOWN, right, a < 0 ? "the first" : b < 0 ? "the second" : "their result");
    merges_add(&tokenizer->merges, a, b, rank, whole);      /* a pair that comes again takes the last rank, as with the reference */
    return OK;
}

/* See tokenizer_inside.h at words_begin_at_mark. */
static bool marks_begin_words(const struct tokenizer *tokenizer)
{
    if (tokenizer->byte_level || vocabulary_find(&tokenizer->vocabulary, MARK, 3) < 0)
        return false;
    for (int32_t id = 0; id < tokenizer->vocabulary.size; id++) {
        const struct text *token = &tokenizer->vocabulary.token[id];
        bool other = false;
        for (uint32_t at = 0; at < token->size; at++) {
            bool mark = token->size - at >= 3 && memcmp(token->bytes + at, MARK, 3) == 0;
            if (mark && other)
                return false;
            other = other || !mark;
            at += mark ? 2 : 0;
        }
    }
    return true;
}

static enum status read_bytes(struct tokenizer *tokenizer)
{
    for (int byte = 0; byte < 256; byte++) {
        char text[8] = { (char)byte };
        if (!tokenizer->byte_level)
            snprintf(text, sizeof text, "<0x%02X>", byte);
        tokenizer->byte_token[byte] = vocabulary_find(&tokenizer->vocabulary, text, tokenizer->byte_level ? 1 : strlen(text));
        if (tokenizer->byte_fallback && tokenizer->byte_token[byte] < 0)
            return fail(E_DATA, "%s: byte_fallback is true, but %s is not in the vocabulary", tokenizer->path, text);
    }
    return OK;
}

static enum status read_model(struct tokenizer *tokenizer, json_t *model)
{
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "dropout", KNOWN_NULL | KNOWN_WHOLE | KNOWN_REAL, NULL }, { "unk_token", KNOWN_TEXT | KNOWN_NULL, NULL },
        { "continuing_subword_prefix", KNOWN_TEXT | KNOWN_NULL, NULL }, { "end_of_word_suffix", KNOWN_TEXT | KNOWN_NULL, NULL },
        { "fuse_unk", KNOWN_TRUTH | KNOWN_NULL, NULL }, { "byte_fallback", KNOWN_TRUTH | KNOWN_NULL, NULL }, { "ignore_merges", KNOWN_TRUTH | KNOWN_NULL, NULL },
        { "vocab", KNOWN_OBJECT, NULL }, { "merges", KNOWN_ARRAY, NULL },
    };
    static const char *const empty[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const char *type = json_text(model, "type"), *unknown = json_text(model, "unk_token");
    json_t *merges = json_object_get(model, "merges"), *merge;
    size_t rank;
    if (!json_is_object(model) || (type != NULL && strcmp(type, "BPE") != 0))
        return fail(E_DATA, "%s: model.type is \"%.*s\"; \"BPE\" is supported", tokenizer->path, SHOWN, type == NULL ? "" : type);
    TRY(known_keys(tokenizer->path, "model", model, keys, ELEMENTS_OF(keys)));
    if (!is_absent(model, "dropout") && json_number_value(json_object_get(model, "dropout")) != 0)
        return fail(E_DATA, "%s: model.dropout is %g: ids would be drawn by lot; right is null or 0", tokenizer->path,
                    json_number_value(json_object_get(model, "dropout")));
    for (int64_t i = 0; i < ELEMENTS_OF(empty); i++)
        if (!is_absent(model, empty[i]) && json_text(model, empty[i])[0] != '\0')
            return fail(E_DATA, "%s: model.%s is \"%.*s\"; right is null or \"\"", tokenizer->path, empty[i], SHOWN, json_text(model, empty[i]));
    tokenizer->byte_fallback = json_truth(model, "byte_fallback", false);
    tokenizer->fuse_unknown = json_truth(model, "fuse_unk", false);
    tokenizer->ignore_merges = json_truth(model, "ignore_merges", false);
    TRY(read_vocabulary(tokenizer, json_object_get(model, "vocab")));
    tokenizer->unknown = unknown == NULL ? -1 : vocabulary_find(&tokenizer->vocabulary, unknown, strlen(unknown));
    if (unknown != NULL && tokenizer->unknown < 0)
        return fail(E_DATA, "%s: model.unk_token \"%.*s\" is not in the vocabulary", tokenizer->path, SHOWN, unknown);
    if (!json_is_array(merges))
        return fail(E_DATA, "%s: model.merges is no array", tokenizer->path);
    merges_open(&tokenizer->merges, json_array_size(merges));
    json_array_foreach(merges, rank, merge)
        TRY(read_merge(tokenizer, merge, (int32_t)rank));
    tokenizer->words_begin_at_mark = marks_begin_words(tokenizer);
    return read_bytes(tokenizer);
}

/* ---- the file ---- */

static enum status read_root(struct tokenizer *tokenizer, json_t *root)
{
    /* truncation and padding are kept from the last training run, and set anew by every caller: they are passed over, as transformers does. */
    static const struct known keys[] = {
        { "version", KNOWN_TEXT, NULL }, { "truncation", KNOWN_NULL | KNOWN_OBJECT, NULL }, { "padding", KNOWN_NULL | KNOWN_OBJECT, NULL },
        { "added_tokens", KNOWN_ARRAY | KNOWN_NULL, NULL }, { "normalizer", KNOWN_OBJECT | KNOWN_NULL, NULL }, { "pre_tokenizer", KNOWN_OBJECT | KNOWN_NULL, NULL },
        { "post_processor", KNOWN_OBJECT | KNOWN_NULL, NULL }, { "decoder", KNOWN_OBJECT | KNOWN_NULL, NULL }, { "model", KNOWN_OBJECT, NULL },
    };
    TRY(known_keys(tokenizer->path, "the file", root, keys, ELEMENTS_OF(keys)));
    size_t tokens = json_object_size(json_object_get(json_object_get(root, "model"), "vocab")) + json_array_size(json_object_get(root, "added_tokens"));
    tokenizer->ids_most = (int32_t)(tokens < TOKENS_MOST ? tokens : TOKENS_MOST) * IDS_A_TOKEN + IDS_SPARE;
    TRY(stages_before_model(tokenizer, root));
    TRY(read_model(tokenizer, json_object_get(root, "model")));
    return stages_behind_model(tokenizer, root);
}

enum status tokenizer_open(struct tokenizer **out, const char *path)
{
    json_error_t error;
    struct source source;
    TRY(source_open(&source, path, FILE_BYTES_MOST));
    json_t *root = json_loadb(source.bytes > 0 ? source.data : "", source.bytes, JSON_REJECT_DUPLICATES, &error);
    source_close(&source);
    if (root == NULL)
        return fail(E_DATA, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    struct tokenizer *tokenizer = memory_take(sizeof *tokenizer);
    *tokenizer = (struct tokenizer){ .path = strdup(path), .unknown = -1 };
    enum status status = json_is_object(root) ? read_root(tokenizer, root) : fail(E_DATA, "%s: no JSON object", path);
    json_decref(root);
    if (status == OK)
        *out = tokenizer;
    else
        tokenizer_close(tokenizer);
    return status;
}

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (tokenizer == NULL)
        return;
    for (int32_t i = 0; i < tokenizer->normalizers; i++) {
        free(tokenizer->normalizer[i].pattern);
        free(tokenizer->normalizer[i].content);
    }
    for (int32_t i = 0; i < tokenizer->decodings; i++) {
        free(tokenizer->decoding[i].pattern);
        free(tokenizer->decoding[i].content);
    }
    for (int32_t i = 0; i < tokenizer->splitters; i++)
        pcre2_code_free(tokenizer->splitter[i].code);
    added_close(tokenizer);
    free(tokenizer->opening.mark);
    vocabulary_close(&tokenizer->vocabulary);
    merges_close(&tokenizer->merges);
    free(tokenizer->path);
    free(tokenizer);
}
