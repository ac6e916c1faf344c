/* stages.c: what lies before and behind the model in tokenizer.json: normalizers, pre-tokenizers, post-processor, decoder, added tokens
 * (tokenizer_inside.h). Build host. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/known.h"
#include "tools/pack/tokenizer_inside.h"

enum { SHOWN = 80 };

#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* \w of Rust's regex, which the reference's Whitespace is written in, and what it calls punctuation. */
#define WORD "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]"
#define PUNCTUATION "[!-/:-@\\[-`{-~]|\\p{P}"

const char *json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool json_truth(const json_t *object, const char *key, bool fallback)
{
    json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

/* ---- normalizers ---- */

static enum status add_normalizer(struct tokenizer *tokenizer, struct normalizer normalizer)
{
    if (tokenizer->normalizers == NORMALIZERS_MOST)
        return fail(E_DATA, "%s: more than %d normalizers", tokenizer->path, NORMALIZERS_MOST);
    tokenizer->normalizer[tokenizer->normalizers++] = normalizer;
    return OK;
}

static enum status read_normalizer(struct tokenizer *tokenizer, json_t *object)
{
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "normalizers", KNOWN_ARRAY, "Sequence " }, { "prepend", KNOWN_TEXT, "Prepend " }, { "pattern", KNOWN_OBJECT, "Replace " }, { "content", KNOWN_TEXT, "Replace " },
        { "strip_left", KNOWN_TRUTH, "Strip " }, { "strip_right", KNOWN_TRUTH, "Strip " },
    };
    static const char *const forms[] = { "NFC", "NFD", "NFKC", "NFKD" };
    const char *type = json_text(object, "type");
    json_t *part;
    size_t i;
    if (object == NULL || json_is_null(object))
        return OK;
    if (type == NULL)
        return fail(E_DATA, "%s: a normalizer without type", tokenizer->path);
    TRY(known_keys(tokenizer->path, "normalizer", object, keys, ELEMENTS_OF(keys)));
    if (strcmp(type, "Sequence") == 0) {
        json_array_foreach(json_object_get(object, "normalizers"), i, part)
            TRY(read_normalizer(tokenizer, part));
        return OK;
    }
    for (int64_t form = 0; form < ELEMENTS_OF(forms); form++)
        if (strcmp(type, forms[form]) == 0)
            return add_normalizer(tokenizer, (struct normalizer){ .kind = (enum normalizer_kind)(NORMALIZE_NFC + form) });
    const char *prepended = json_text(object, "prepend"), *content = json_text(object, "content");
    const char *pattern = json_text(json_object_get(object, "pattern"), "String");
    if (strcmp(type, "Prepend") == 0 && prepended != NULL)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_PREPEND, .content = strdup(prepended) });
    if (strcmp(type, "Replace") == 0 && pattern != NULL && pattern[0] != '\0' && content != NULL)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_REPLACE, .pattern = strdup(pattern), .content = strdup(content) });
    if (strcmp(type, "Lowercase") == 0)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_LOWER });
    if (strcmp(type, "Strip") == 0 && json_is_boolean(json_object_get(object, "strip_left")) && json_is_boolean(json_object_get(object, "strip_right")))
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_STRIP, .left = json_truth(object, "strip_left", false),
                                                              .right = json_truth(object, "strip_right", false) });
    return fail(E_DATA, "%s: normalizer %.*s, as it stands there, is not supported; NFC, NFD, NFKC, NFKD, Lowercase, Strip, Prepend, Replace of a string and Sequence are",
                tokenizer->path, SHOWN, type);
}

/* ---- pre-tokenizers ---- */

static enum status add_splitter(struct tokenizer *tokenizer, const char *pattern, enum split_behaviour behaviour, bool invert)
{
    if (tokenizer->splitters == SPLITTERS_MOST)
        return fail(E_DATA, "%s: more than %d pre-tokenizers", tokenizer->path, SPLITTERS_MOST);
    struct splitter *splitter = &tokenizer->splitter[tokenizer->splitters];
    *splitter = (struct splitter){ .behaviour = behaviour, .invert = invert };
    TRY(split_compile(tokenizer->path, pattern, &splitter->code));
    tokenizer->splitters++;
    return OK;
}

/* A text as a pattern that matches it. */
static char *quoted(const char *text)
{
    char *pattern = memory_take(2 * strlen(text) + 1), *at = pattern;
    for (; *text != '\0'; text++) {
        if (strchr("\\^$.[]|()?*+{}#-/ ", *text) != NULL && *text != ' ')
            *at++ = '\\';
        *at++ = *text;
    }
    *at = '\0';
    return pattern;
}

static enum status read_behaviour(const struct tokenizer *tokenizer, const char *type, const char *name, enum split_behaviour *behaviour)
{
    static const struct {
        const char *name;
        enum split_behaviour behaviour;
    } behaviours[] = {
        { "Isolated", SPLIT_ISOLATED }, { "Removed", SPLIT_REMOVED }, { "MergedWithPrevious", SPLIT_WITH_PREVIOUS }, { "MergedWithNext", SPLIT_WITH_NEXT },
        { "Contiguous", SPLIT_CONTIGUOUS },
    };
    for (int64_t i = 0; name != NULL && i < ELEMENTS_OF(behaviours); i++)
        if (strcmp(name, behaviours[i].name) == 0) {
            *behaviour = behaviours[i].behaviour;
            return OK;
        }
    return fail(E_DATA, "%s: pre-tokenizer %s: behavior \"%.*s\" is not supported", tokenizer->path, type, SHOWN, name == NULL ? "" : name);
}

static enum status read_split(struct tokenizer *tokenizer, json_t *object)
{
    const char *regex = json_text(json_object_get(object, "pattern"), "Regex"), *text = json_text(json_object_get(object, "pattern"), "String");
    enum split_behaviour behaviour = SPLIT_ISOLATED;
    if (regex == NULL && (text == NULL || text[0] == '\0'))
        return fail(E_DATA, "%s: pre-tokenizer Split without a pattern", tokenizer->path);
    TRY(read_behaviour(tokenizer, "Split", json_text(object, "behavior"), &behaviour));
    char *pattern = regex != NULL ? strdup(regex) : quoted(text);
    enum status status = add_splitter(tokenizer, pattern, behaviour, json_truth(object, "invert", false));
    free(pattern);
    return status;
}

/* What is put before a text goes before the whole stretch, so nothing may have cut it before. */
static enum status add_opening(struct tokenizer *tokenizer, const char *type, struct opening opening)
{
    if (tokenizer->splitters > 0 || tokenizer->opening.mark != NULL) {
        free(opening.mark);
        return fail(E_DATA, "%s: pre-tokenizer %s that puts a mark before words stands behind another; it is supported as the first", tokenizer->path, type);
    }
    tokenizer->opening = opening;
    return OK;
}

static enum status read_metaspace(struct tokenizer *tokenizer, json_t *object)
{
    static const char *const schemes[] = { "never", "always", "first" };
    const char *mark = json_text(object, "replacement"), *scheme = json_text(object, "prepend_scheme");
    int32_t found = scheme == NULL ? OPEN_ALWAYS : OPEN_NEVER;
    while (scheme != NULL && found < ELEMENTS_OF(schemes) && strcmp(scheme, schemes[found]) != 0)
        found++;
    if (mark == NULL || mark[0] == '\0' || found == ELEMENTS_OF(schemes))
        return fail(E_DATA, "%s: pre-tokenizer Metaspace: replacement \"%.*s\", prepend_scheme \"%.*s\"; right are a character, and always, first or never",
                    tokenizer->path, SHOWN, mark == NULL ? "" : mark, SHOWN, scheme == NULL ? "" : scheme);
    if (!json_truth(object, "add_prefix_space", true) && found != OPEN_NEVER)
        return fail(E_DATA, "%s: pre-tokenizer Metaspace: add_prefix_space is false, prepend_scheme is not \"never\": which is right?", tokenizer->path);
    TRY(add_opening(tokenizer, "Metaspace", (struct opening){ (enum opening_scheme)found, strdup(mark), true }));
    if (!json_truth(object, "split", true))
        return OK;
    char *pattern = quoted(mark);
    enum status status = add_splitter(tokenizer, pattern, SPLIT_WITH_NEXT, false);
    free(pattern);
    return status;
}

static enum status read_punctuation(struct tokenizer *tokenizer, json_t *object)
{
    enum split_behaviour behaviour = SPLIT_ISOLATED;
    if (json_object_get(object, "behavior") != NULL)
        TRY(read_behaviour(tokenizer, "Punctuation", json_text(object, "behavior"), &behaviour));
    return add_splitter(tokenizer, PUNCTUATION, behaviour, false);
}

static enum status read_pre_tokenizer(struct tokenizer *tokenizer, json_t *object)
{
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "pretokenizers", KNOWN_ARRAY, "Sequence " }, { "pattern", KNOWN_OBJECT, "Split " }, { "behavior", KNOWN_TEXT, "Split Punctuation " }, { "invert", KNOWN_TRUTH, "Split " },
        { "individual_digits", KNOWN_TRUTH, "Digits " }, { "add_prefix_space", KNOWN_TRUTH, "ByteLevel Metaspace " }, { "trim_offsets", KNOWN_TRUTH, "ByteLevel " }, { "use_regex", KNOWN_TRUTH, "ByteLevel " },
        { "replacement", KNOWN_TEXT, "Metaspace " }, { "prepend_scheme", KNOWN_TEXT, "Metaspace " }, { "split", KNOWN_TRUTH, "Metaspace " }, { "str_rep", KNOWN_TEXT, "Metaspace " },
    };
    const char *type = json_text(object, "type");
    json_t *part;
    size_t i;
    if (object == NULL || json_is_null(object))
        return OK;
    if (type == NULL)
        return fail(E_DATA, "%s: a pre-tokenizer without type", tokenizer->path);
    TRY(known_keys(tokenizer->path, "pre_tokenizer", object, keys, ELEMENTS_OF(keys)));
    if (strcmp(type, "Sequence") == 0) {
        json_array_foreach(json_object_get(object, "pretokenizers"), i, part)
            TRY(read_pre_tokenizer(tokenizer, part));
        return OK;
    }
    if (strcmp(type, "Split") == 0)
        return read_split(tokenizer, object);
    if (strcmp(type, "Digits") == 0)
        return add_splitter(tokenizer, json_truth(object, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", SPLIT_ISOLATED, false);
    if (strcmp(type, "ByteLevel") == 0) {
        if (json_truth(object, "add_prefix_space", true))
            TRY(add_opening(tokenizer, "ByteLevel", (struct opening){ OPEN_ALWAYS, strdup(" "), false }));
        tokenizer->byte_level = true;
        return json_truth(object, "use_regex", true) ? add_splitter(tokenizer, GPT2_PATTERN, SPLIT_ISOLATED, false) : OK;
    }
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(tokenizer, object);
    if (strcmp(type, "Punctuation") == 0)
        return read_punctuation(tokenizer, object);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_splitter(tokenizer, "\\s", SPLIT_REMOVED, false);
    if (strcmp(type, "Whitespace") == 0)
        return add_splitter(tokenizer, WORD "+|(?:(?!" WORD ")\\S)+", SPLIT_REMOVED, true);
    return fail(E_DATA, "%s: pre-tokenizer %.*s is not supported; Split, Digits, ByteLevel, Metaspace, Punctuation, Whitespace, WhitespaceSplit and Sequence are", tokenizer->path, SHOWN, type);
}

/* ---- post-processor and decoder ---- */

static enum status read_special(struct tokenizer *tokenizer, json_t *ids, int32_t *list, int32_t *count)
{
    json_t *id;
    size_t i;
    json_array_foreach(ids, i, id) {
        if (*count == SPECIAL_MOST || !json_is_integer(id))
            return fail(E_DATA, "%s: post_processor: a special token has no ids, or there are more than %d", tokenizer->path, SPECIAL_MOST);
        list[(*count)++] = (int32_t)json_integer_value(id);
    }
    return OK;
}

static enum status read_template(struct tokenizer *tokenizer, json_t *object)
{
    json_t *piece;
    size_t i;
    bool behind = false;
    json_array_foreach(json_object_get(object, "single"), i, piece) {
        const char *name = json_text(json_object_get(piece, "SpecialToken"), "id");
        if (name == NULL) {
            behind = true;
            continue;
        }
        json_t *ids = json_object_get(json_object_get(json_object_get(object, "special_tokens"), name), "ids");
        if (!json_is_array(ids))
            return fail(E_DATA, "%s: post_processor: special token \"%.*s\" has no ids", tokenizer->path, SHOWN, name);
        TRY(behind ? read_special(tokenizer, ids, tokenizer->suffix, &tokenizer->suffixes) : read_special(tokenizer, ids, tokenizer->prefix, &tokenizer->prefixes));
    }
    return OK;
}

static enum status read_post_processor(struct tokenizer *tokenizer, json_t *object)
{
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "processors", KNOWN_ARRAY, "Sequence " }, { "single", KNOWN_ARRAY, "TemplateProcessing " },
        { "pair", KNOWN_ARRAY, "TemplateProcessing " }, { "special_tokens", KNOWN_OBJECT, "TemplateProcessing " },
        { "add_prefix_space", KNOWN_TRUTH, "ByteLevel " }, { "trim_offsets", KNOWN_TRUTH, "ByteLevel " }, { "use_regex", KNOWN_TRUTH, "ByteLevel " },
    };
    const char *type = json_text(object, "type");
    json_t *part;
    size_t i;
    if (object == NULL || json_is_null(object))
        return OK;
    if (type != NULL && (strcmp(type, "ByteLevel") == 0 || strcmp(type, "TemplateProcessing") == 0 || strcmp(type, "Sequence") == 0))
        TRY(known_keys(tokenizer->path, "post_processor", object, keys, ELEMENTS_OF(keys)));
    if (type != NULL && strcmp(type, "ByteLevel") == 0)
        return OK;
    if (type != NULL && strcmp(type, "TemplateProcessing") == 0)
        return read_template(tokenizer, object);
    if (type == NULL || strcmp(type, "Sequence") != 0)
        return fail(E_DATA, "%s: post_processor %.*s is not supported; ByteLevel, TemplateProcessing and Sequence are", tokenizer->path, SHOWN,
                    type == NULL ? "(no type)" : type);
    json_array_foreach(json_object_get(object, "processors"), i, part)
        TRY(read_post_processor(tokenizer, part));
    return OK;
}

static enum status read_decoder(struct tokenizer *tokenizer, json_t *object)
{
    static const char *const known[] = { "ByteLevel", "Replace", "ByteFallback", "Fuse", "Strip", "Sequence" };
    const char *type = json_text(object, "type");
    json_t *part;
    size_t i;
    if (object == NULL || json_is_null(object))
        return OK;
    if (type != NULL && strcmp(type, "Metaspace") == 0) {
        const char *mark = json_text(object, "replacement"), *scheme = json_text(object, "prepend_scheme");
        if (mark == NULL || strcmp(mark, MARK) != 0 || (scheme != NULL && strcmp(scheme, "never") == 0))
            return fail(E_DATA, "%s: decoder Metaspace with another replacement than U+2581, or prepend_scheme never, is not supported", tokenizer->path);
        tokenizer->decode_marks = true;
        return OK;
    }
    for (int64_t k = 0; type != NULL && k < ELEMENTS_OF(known); k++)
        if (strcmp(type, known[k]) == 0) {
            tokenizer->decode_marks = tokenizer->decode_marks || strcmp(type, "ByteFallback") == 0;
            json_array_foreach(json_object_get(object, "decoders"), i, part)
                TRY(read_decoder(tokenizer, part));
            return OK;
        }
    return fail(E_DATA, "%s: decoder %.*s is not supported", tokenizer->path, SHOWN, type == NULL ? "(no type)" : type);
}

/* ---- added tokens ---- */

static int by_first_byte(const void *a, const void *b)
{
    const struct added *x = a, *y = b;
    unsigned char first_x = (unsigned char)x->sought[0], first_y = (unsigned char)y->sought[0];
    if (first_x != first_y)
        return first_x < first_y ? -1 : 1;
    return (x->sought_size < y->sought_size) - (x->sought_size > y->sought_size);
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

/* The reference normalizes the content of such a token as if it were a whole text: Prepend gives it a mark of its own, too. Content that vanishes
 * there is never found; its first byte is the NUL behind it. */
static void seek_added(const struct tokenizer *tokenizer, struct added *added)
{
    struct encoder encoder = { .tokenizer = tokenizer };
    load_piece(&encoder, added->content, 0, added->size, NULL);
    if (added->normalized)
        normalize_piece(&encoder);
    added->sought_size = encoder.piece.size;
    added->sought = memory_take(added->sought_size + 1);
    memcpy(added->sought, encoder.piece.bytes, added->sought_size);
    added->sought[added->sought_size] = '\0';
    free(encoder.piece.bytes);
    free(encoder.piece.origin);
    free(encoder.spare.bytes);
    free(encoder.spare.origin);
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
            .special = json_truth(entry, "special", false), .normalized = json_truth(entry, "normalized", false) && tokenizer->normalizers > 0,
            .left_strip = json_truth(entry, "lstrip", false), .right_strip = json_truth(entry, "rstrip", false), .single_word = json_truth(entry, "single_word", false),
        };
        if (json_integer_value(id) >= tokenizer->size)
            tokenizer->size = (int32_t)json_integer_value(id) + 1;
    }
    return OK;
}

static enum status read_added(struct tokenizer *tokenizer, json_t *list)
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
    for (int32_t k = 0; k < tokenizer->added_count; k++)
        seek_added(tokenizer, &tokenizer->added[k]);
    qsort(tokenizer->added, (size_t)tokenizer->added_count, sizeof *tokenizer->added, by_first_byte);
    for (int32_t byte = 0, at = 0; byte <= 256; byte++) {
        while (at < tokenizer->added_count && (unsigned char)tokenizer->added[at].sought[0] < byte)
            at++;
        tokenizer->added_first[byte] = at;
    }
    return OK;
}

/* Where the vocabulary has the content or the id of an added token, it has both together. Compared as the file writes them: the vocabulary in
 * memory holds the bytes that byte-level tokens stand for. */
static enum status check_added_vocabulary(const struct tokenizer *tokenizer, json_t *list, json_t *vocab)
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

enum status stages_before_model(struct tokenizer *tokenizer, json_t *root)
{
    TRY(read_normalizer(tokenizer, json_object_get(root, "normalizer")));
    return read_pre_tokenizer(tokenizer, json_object_get(root, "pre_tokenizer"));
}

enum status stages_behind_model(struct tokenizer *tokenizer, json_t *root)
{
    TRY(check_added_vocabulary(tokenizer, json_object_get(root, "added_tokens"), json_object_get(json_object_get(root, "model"), "vocab")));
    TRY(read_post_processor(tokenizer, json_object_get(root, "post_processor")));
    TRY(read_decoder(tokenizer, json_object_get(root, "decoder")));
    return read_added(tokenizer, json_object_get(root, "added_tokens"));
}
