/* added.c: the added tokens of tokenizer.json, which stand beside the vocabulary (tokenizer_inside.h). Build host. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/known.h"
#include "tools/pack/tokenizer_inside.h"

enum { SHOWN = 80 };

/* A text before its continuations. */
static int by_sought(const void *a, const void *b)
{
    const struct added *x = a, *y = b;
    size_t both = x->sought_size < y->sought_size ? x->sought_size : y->sought_size;
    if (x->normalized != y->normalized)
        return x->normalized ? 1 : -1;
    int order = memcmp(x->sought, y->sought, both);
    if (order != 0)
        return order;
    if (x->sought_size != y->sought_size)
        return x->sought_size < y->sought_size ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_content(const void *a, const void *b, void *added)
{
    const struct added *all = added;
    return strcmp(all[*(const int32_t *)a].content, all[*(const int32_t *)b].content);
}

/* The id and the content of an added token belong to it alone, or to the same token of the vocabulary. seen holds those before it. */
static enum status check_added(const struct tokenizer *tokenizer, struct vocabulary *seen, int32_t id, const char *content, size_t *pool_at)
{
    int32_t same = vocabulary_find(seen, content, strlen(content)), before = same >= 0 ? same : id;
    if (seen->token[before].bytes != NULL)
        return fail(E_DATA, "%s: added token \"%.*s\" has id %" PRId32 ", \"%.*s\" before it id %" PRId32 "; right is one token an id, each once",
                    tokenizer->path, SHOWN, content, id, (int)(seen->token[before].size < SHOWN ? seen->token[before].size : SHOWN),
                    seen->token[before].bytes, before);
    vocabulary_add(seen, id, content, strlen(content), true, pool_at);
    return OK;
}

/* The reference normalizes the content of such a token as if it were a whole text: Prepend gives it a mark of its own, too. */
static void seek_added(const struct tokenizer *tokenizer, struct added *added)
{
    struct encoder encoder = { .tokenizer = tokenizer };
    load_piece(&encoder, added->content, 0, added->size, NULL);
    if (added->normalized)
        normalize_piece(&encoder);
    added->sought_size = encoder.piece.size;
    added->sought = memory_take(added->sought_size + 1);
    if (added->sought_size > 0)
        memcpy(added->sought, encoder.piece.bytes, added->sought_size);
    added->sought[added->sought_size] = '\0';
    free(encoder.piece.bytes);
    free(encoder.piece.origin);
    free(encoder.spare.bytes);
    free(encoder.spare.origin);
}

/* A token that was sought in normalized text stands for that. */
static void read_bytes_of(const struct tokenizer *tokenizer, struct added *added)
{
    added->bytes = memory_take(added->sought_size + 1);
    int64_t size = tokenizer->byte_level ? bytes_of(added->sought, added->bytes) : -1;
    added->bytes_size = size >= 0 ? (size_t)size : added->sought_size;
    if (size < 0)
        memcpy(added->bytes, added->sought, added->sought_size);
}

static enum status read_added_entries(struct tokenizer *tokenizer, json_t *list, struct vocabulary *seen)
{
    static const struct known keys[] = {
        { "id", KNOWN_WHOLE, NULL }, { "content", KNOWN_TEXT, NULL }, { "single_word", KNOWN_TRUTH, NULL }, { "lstrip", KNOWN_TRUTH, NULL }, { "rstrip", KNOWN_TRUTH, NULL },
        { "normalized", KNOWN_TRUTH, NULL }, { "special", KNOWN_TRUTH, NULL },
    };
    json_t *entry;
    size_t i, pool_at = 0;
    json_array_foreach(list, i, entry) {
        const char *content = json_text(entry, "content");
        TRY(known_keys(tokenizer->path, "added_tokens[]", entry, keys, ELEMENTS_OF(keys)));
        json_t *id = json_object_get(entry, "id");
        if (content == NULL || content[0] == '\0' || !json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= tokenizer->ids_most)
            return fail(E_DATA, "%s: added_tokens[%zu] lacks content or an id from 0 to %" PRId32, tokenizer->path, i, tokenizer->ids_most - 1);
        TRY(check_added(tokenizer, seen, (int32_t)json_integer_value(id), content, &pool_at));
        tokenizer->added[tokenizer->added_count++] = (struct added){
            .id = (int32_t)json_integer_value(id), .content = strdup(content), .size = strlen(content),
            .special = json_truth(entry, "special", false), .normalized = json_truth(entry, "normalized", false),
            .left_strip = json_truth(entry, "lstrip", false), .right_strip = json_truth(entry, "rstrip", false), .single_word = json_truth(entry, "single_word", false),
        };
        if (json_integer_value(id) >= tokenizer->size)
            tokenizer->size = (int32_t)json_integer_value(id) + 1;
    }
    return OK;
}

static void make_index(struct tokenizer *tokenizer)
{
    int32_t count = tokenizer->added_count, at = 0;
    const struct added *added = tokenizer->added;
    qsort(tokenizer->added, (size_t)count, sizeof *tokenizer->added, by_sought);
    while (tokenizer->added_raw < count && !added[tokenizer->added_raw].normalized)
        tokenizer->added_raw++;
    for (int normalized = 0; normalized < 2; normalized++)
        for (int32_t byte = 0, end = normalized ? count : tokenizer->added_raw; byte <= 256; byte++) {
            while (at < end && (unsigned char)added[at].sought[0] < byte)
                at++;
            tokenizer->added_first[normalized][byte] = at;
        }
    tokenizer->added_by_id = memory_take((size_t)tokenizer->size * sizeof *tokenizer->added_by_id);
    tokenizer->added_by_content = memory_take(((size_t)count + 1) * sizeof *tokenizer->added_by_content);
    memset(tokenizer->added_by_id, 0xff, (size_t)tokenizer->size * sizeof *tokenizer->added_by_id);
    for (int32_t i = 0; i < count; i++) {
        tokenizer->added_by_id[added[i].id] = i;
        tokenizer->added_by_content[i] = i;
    }
    qsort_r(tokenizer->added_by_content, (size_t)count, sizeof *tokenizer->added_by_content, by_content, tokenizer->added);
}

const struct added *added_of(const struct tokenizer *tokenizer, int32_t id)
{
    int32_t at = id >= 0 && id < tokenizer->size ? tokenizer->added_by_id[id] : -1;
    return at < 0 ? NULL : &tokenizer->added[at];
}

const struct added *added_named(const struct tokenizer *tokenizer, const char *content)
{
    for (int32_t low = 0, high = tokenizer->added_count; low < high;) {
        int32_t middle = low + (high - low) / 2;
        const struct added *added = &tokenizer->added[tokenizer->added_by_content[middle]];
        int order = strcmp(content, added->content);
        if (order == 0)
            return added;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The first of [low, high), which are equal before byte at and longer, whose byte there is not below least. */
static int32_t narrow(const struct added *added, int32_t low, int32_t high, size_t at, int least)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((unsigned char)added[middle].sought[at] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct added *added_longest(const struct tokenizer *tokenizer, const char *text, size_t bytes, bool normalized)
{
    const struct added *added = tokenizer->added, *longest = NULL;
    const int32_t *first = &tokenizer->added_first[normalized][(unsigned char)text[0]];
    int32_t low = first[0], high = first[1];
    for (size_t at = 1; low < high; at++) {
        if (added[low].sought_size == at)
            longest = &added[low];
        while (low < high && added[low].sought_size == at)
            low++;
        if (at == bytes)
            break;
        low = narrow(added, low, high, at, (unsigned char)text[at]);
        high = narrow(added, low, high, at, (unsigned char)text[at] + 1);
    }
    return longest;
}

enum status added_read(struct tokenizer *tokenizer, json_t *list)
{
    json_t *entry;
    size_t i, bytes = 1;
    struct vocabulary seen;
    tokenizer->size = tokenizer->vocabulary.size;
    tokenizer->added = memory_take((json_array_size(list) + 1) * sizeof *tokenizer->added);
    json_array_foreach(list, i, entry)
        bytes += json_string_length(json_object_get(entry, "content"));
    vocabulary_open(&seen, tokenizer->ids_most, bytes);
    enum status status = read_added_entries(tokenizer, list, &seen);
    vocabulary_close(&seen);
    TRY(status);
    for (int32_t k = 0; k < tokenizer->added_count; k++) {
        seek_added(tokenizer, &tokenizer->added[k]);
        if (tokenizer->added[k].sought_size == 0)
            return fail(E_DATA, "%s: added_tokens[%" PRId32 "].content is \"%.*s\": the normalizer leaves nothing of it, and that would be found everywhere",
                        tokenizer->path, k, SHOWN, tokenizer->added[k].content);
        read_bytes_of(tokenizer, &tokenizer->added[k]);
    }
    make_index(tokenizer);
    bool words = false;
    for (int32_t k = 0; k < tokenizer->added_count; k++)
        words = words || tokenizer->added[k].single_word;
    return words ? split_compile(tokenizer->path, WORD, &tokenizer->word) : OK;
}

void added_close(struct tokenizer *tokenizer)
{
    for (int32_t i = 0; i < tokenizer->added_count; i++) {
        free(tokenizer->added[i].content);
        free(tokenizer->added[i].sought);
        free(tokenizer->added[i].bytes);
    }
    free(tokenizer->added);
    free(tokenizer->added_by_id);
    free(tokenizer->added_by_content);
    pcre2_code_free(tokenizer->word);
}

/* Compared as the file writes them: the vocabulary in memory holds the bytes that byte-level tokens stand for. */
enum status added_check_vocabulary(const struct tokenizer *tokenizer, json_t *list, json_t *vocab)
{
    json_t *entry, *value;
    const char *text;
    size_t i;
    json_t **by_id = memory_take(((size_t)tokenizer->vocabulary.size + 1) * sizeof *by_id);
    enum status status = OK;
    memset(by_id, 0, ((size_t)tokenizer->vocabulary.size + 1) * sizeof *by_id);
    json_array_foreach(list, i, entry) {
        json_t *id = json_object_get(entry, "id");
        if (json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) < tokenizer->vocabulary.size)
            by_id[json_integer_value(id)] = entry;
        const char *content = json_text(entry, "content");
        value = content == NULL ? NULL : json_object_get(vocab, content);
        if (status == OK && value != NULL && json_is_integer(id) && json_integer_value(value) != json_integer_value(id))
            status = fail(E_DATA, "%s: added token \"%.*s\" has id %" JSON_INTEGER_FORMAT ", in model.vocab it has %" JSON_INTEGER_FORMAT "; right is one id",
                          tokenizer->path, SHOWN, content, json_integer_value(id), json_integer_value(value));
    }
    json_object_foreach(vocab, text, value) {
        const json_t *added = by_id[json_integer_value(value)];
        const char *content = added == NULL ? NULL : json_text(added, "content");
        if (status == OK && content != NULL && strcmp(content, text) != 0)
            status = fail(E_DATA, "%s: added token \"%.*s\" has id %" JSON_INTEGER_FORMAT ", which is \"%.*s\" in model.vocab; right is one token an id",
                          tokenizer->path, SHOWN, content, json_integer_value(value), SHOWN, text);
    }
    free(by_id);
    return status;
}
