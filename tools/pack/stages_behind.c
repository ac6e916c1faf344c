/* stages_behind.c: what ids go through behind the model, and the way back: post-processor and decoder of tokenizer.json (tokenizer_inside.h).
 * Build host. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/known.h"
#include "tools/pack/tokenizer_inside.h"

enum { SHOWN = 80 };

/* ---- post-processor ---- */

/* Id of a token by its text as the file writes it: added tokens, then the vocabulary; -1. */
static json_int_t id_written(const struct tokenizer *tokenizer, const json_t *vocab, const char *text)
{
    const json_t *id = json_object_get(vocab, text);
    return json_is_integer(id) ? json_integer_value(id) : tokenizer_id(tokenizer, text);
}

/* One entry of special_tokens: as many ids as tokens, and each id that of its token. */
static enum status check_special(const struct tokenizer *tokenizer, const char *where, const json_t *vocab, const char *name, const json_t *entry)
{
    static const struct known keys[] = {
        { "id", KNOWN_TEXT | KNOWN_NEEDED, NULL }, { "ids", KNOWN_ARRAY | KNOWN_NEEDED, NULL }, { "tokens", KNOWN_ARRAY | KNOWN_NEEDED, NULL },
    };
    char place[WHERE_BYTES + SHOWN + 20];
    const json_t *ids = json_object_get(entry, "ids"), *tokens = json_object_get(entry, "tokens");
    snprintf(place, sizeof place, "%s.special_tokens.%.*s", where, SHOWN, name);
    TRY(known_keys(tokenizer->path, place, entry, keys, ELEMENTS_OF(keys)));
    if (strcmp(json_text(entry, "id"), name) != 0)
        return fail(E_DATA, "%s: %s.id is \"%.*s\"; right is its own name", tokenizer->path, place, SHOWN, json_text(entry, "id"));
    if (json_array_size(ids) != json_array_size(tokens))
        return fail(E_DATA, "%s: %s has %zu ids and %zu tokens; right is one id a token", tokenizer->path, place, json_array_size(ids), json_array_size(tokens));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        const char *token = json_string_value(json_array_get(tokens, i));
        if (!json_is_integer(id) || token == NULL)
            return fail(E_DATA, "%s: %s.%s[%zu] is not %s", tokenizer->path, place, token == NULL ? "tokens" : "ids", i, token == NULL ? "a text" : "a whole number");
        json_int_t right = id_written(tokenizer, vocab, token);
        if (right < 0)
            return fail(E_DATA, "%s: %s.tokens[%zu] is \"%.*s\", which is no token of this file", tokenizer->path, place, i, SHOWN, token);
        if (right != json_integer_value(id))
            return fail(E_DATA, "%s: %s.ids[%zu] is %" JSON_INTEGER_FORMAT "; right is %" JSON_INTEGER_FORMAT ", the id of \"%.*s\"", tokenizer->path, place, i,
                        json_integer_value(id), right, SHOWN, token);
    }
    return OK;
}

/* A piece of a template is a special token, whose entry it gives, or one of sequences ("AB"), which it gives. */
static enum status read_piece(const struct tokenizer *tokenizer, const char *where, const json_t *object, const json_t *piece, const char *sequences,
                              const json_t **special, char *sequence)
{
    static const struct known kinds[] = { { "SpecialToken", KNOWN_OBJECT, NULL }, { "Sequence", KNOWN_OBJECT, NULL } };
    static const struct known keys[] = { { "id", KNOWN_TEXT | KNOWN_NEEDED, NULL }, { "type_id", KNOWN_WHOLE | KNOWN_NEEDED, NULL } };
    char place[WHERE_BYTES + 16];
    *special = NULL;
    *sequence = '\0';
    TRY(known_keys(tokenizer->path, where, piece, kinds, ELEMENTS_OF(kinds)));
    if (json_object_size(piece) != 1)
        return fail(E_DATA, "%s: %s has %zu keys; right is SpecialToken or Sequence", tokenizer->path, where, json_object_size(piece));
    bool is_special = json_object_get(piece, "SpecialToken") != NULL;
    const json_t *content = json_object_get(piece, is_special ? "SpecialToken" : "Sequence");
    snprintf(place, sizeof place, "%s.%s", where, is_special ? "SpecialToken" : "Sequence");
    TRY(known_keys(tokenizer->path, place, content, keys, ELEMENTS_OF(keys)));
    const char *id = json_text(content, "id");
    if (is_special) {
        *special = json_object_get(json_object_get(object, "special_tokens"), id);
        return *special != NULL ? OK : fail(E_DATA, "%s: %s.id is \"%.*s\", which special_tokens lacks", tokenizer->path, place, SHOWN, id);
    }
    if (id[0] == '\0' || id[1] != '\0' || strchr(sequences, id[0]) == NULL)
        return fail(E_DATA, "%s: %s.id is \"%.*s\"; right is %s", tokenizer->path, place, SHOWN, id, sequences[1] == '\0' ? "A" : "A or B");
    *sequence = id[0];
    return OK;
}

static enum status add_special(struct tokenizer *tokenizer, const char *where, const json_t *entry, int32_t *list, int32_t *count)
{
    const json_t *ids = json_object_get(entry, "ids");
    for (size_t i = 0; i < json_array_size(ids); i++) {
        if (*count == SPECIAL_MOST)
            return fail(E_DATA, "%s: %s puts more than %d special tokens at one end of a text", tokenizer->path, where, SPECIAL_MOST);
        list[(*count)++] = (int32_t)json_integer_value(json_array_get(ids, i));
    }
    return OK;
}

static enum status read_template(struct tokenizer *tokenizer, const char *where, json_t *object, const json_t *vocab)
{
    const char *name;
    char place[WHERE_BYTES], sequence;
    const json_t *special;
    json_t *piece;
    size_t i;
    int texts = 0;
    if (tokenizer->prefixes + tokenizer->suffixes > 0)
        return fail(E_DATA, "%s: %s is one more TemplateProcessing behind one that adds special tokens; supported is one", tokenizer->path, where);
    json_object_foreach(json_object_get(object, "special_tokens"), name, piece)
        TRY(check_special(tokenizer, where, vocab, name, piece));
    json_array_foreach(json_object_get(object, "pair"), i, piece) {
        known_part(place, where, "pair", i);
        TRY(read_piece(tokenizer, place, object, piece, "AB", &special, &sequence));
    }
    json_array_foreach(json_object_get(object, "single"), i, piece) {
        known_part(place, where, "single", i);
        TRY(read_piece(tokenizer, place, object, piece, "A", &special, &sequence));
        texts += sequence == 'A';
        TRY(texts > 0 ? add_special(tokenizer, place, special, tokenizer->suffix, &tokenizer->suffixes)
                      : add_special(tokenizer, place, special, tokenizer->prefix, &tokenizer->prefixes));
    }
    if (texts != 1)
        return fail(E_DATA, "%s: %s.single has the text %d times; right is one Sequence A", tokenizer->path, where, texts);
    return OK;
}

static enum status read_post_processor(struct tokenizer *tokenizer, const char *where, json_t *object, const json_t *vocab)
{
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "processors", KNOWN_ARRAY | KNOWN_NEEDED, "Sequence " }, { "single", KNOWN_ARRAY | KNOWN_NEEDED, "TemplateProcessing " },
        { "pair", KNOWN_ARRAY, "TemplateProcessing " }, { "special_tokens", KNOWN_OBJECT | KNOWN_NEEDED, "TemplateProcessing " },
        { "add_prefix_space", KNOWN_TRUTH, "ByteLevel " }, { "trim_offsets", KNOWN_TRUTH, "ByteLevel " }, { "use_regex", KNOWN_TRUTH, "ByteLevel " },
    };
    const char *type;
    json_t *part;
    size_t i;
    TRY(known_type(tokenizer->path, where, object, "ByteLevel, TemplateProcessing, Sequence", &type));
    TRY(known_keys(tokenizer->path, where, object, keys, ELEMENTS_OF(keys)));
    json_array_foreach(json_object_get(object, "processors"), i, part) {
        char place[WHERE_BYTES];
        known_part(place, where, "processors", i);
        TRY(read_post_processor(tokenizer, place, part, vocab));
    }
    return strcmp(type, "TemplateProcessing") == 0 ? read_template(tokenizer, where, object, vocab) : OK;
}

/* ---- decoder ---- */

static enum status check_decoder(const struct tokenizer *tokenizer, const char *where, const json_t *object, const char *type)
{
    static const char *const counts[] = { "start", "stop" };
    const json_t *pattern = json_object_get(object, "pattern");
    const char *mark = json_text(object, "replacement"), *content = json_text(object, "content"), *scheme = json_text(object, "prepend_scheme");
    if (strcmp(type, "Replace") == 0 && (json_object_size(pattern) != 1 || json_text(pattern, "String") == NULL || json_text(pattern, "String")[0] == '\0'))
        return fail(E_DATA, "%s: %s.pattern is not {\"String\": a text}", tokenizer->path, where);
    if (strcmp(type, "Strip") == 0 && !json_is_character(content))
        return fail(E_DATA, "%s: %s.content is \"%.*s\"; right is one character", tokenizer->path, where, SHOWN, content);
    for (int64_t i = 0; i < ELEMENTS_OF(counts); i++) {
        json_int_t count = json_integer_value(json_object_get(object, counts[i]));
        if (count < 0 || count > INT32_MAX)
            return fail(E_DATA, "%s: %s.%s is %" JSON_INTEGER_FORMAT "; right is 0 to %" PRId32, tokenizer->path, where, counts[i], count, INT32_MAX);
    }
    if (mark != NULL && !json_is_character(mark))
        return fail(E_DATA, "%s: %s.replacement is \"%.*s\"; right is one character", tokenizer->path, where, SHOWN, mark);
    if (scheme != NULL && strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 && strcmp(scheme, "never") != 0)
        return fail(E_DATA, "%s: %s.prepend_scheme is \"%.*s\"; right are always, first and never", tokenizer->path, where, SHOWN, scheme);
    if (strcmp(type, "Metaspace") == 0 && !json_truth(object, "add_prefix_space", true) && (scheme == NULL || strcmp(scheme, "never") != 0))
        return fail(E_DATA, "%s: %s.add_prefix_space is false, prepend_scheme is not \"never\": which is right?", tokenizer->path, where);
    return OK;
}

/* The vocabulary of a byte-level model holds bytes, of another one texts: ByteLevel is the first step of the one, and none of the other's. */
static enum status check_place(const struct tokenizer *tokenizer, const char *where, const char *type)
{
    bool first = tokenizer->decodings == 0, bytes = strcmp(type, "ByteLevel") == 0;
    if (bytes == (tokenizer->byte_level && first))
        return OK;
    return fail(E_DATA, "%s: %s.type is \"%s\"; %s", tokenizer->path, where, type,
                !tokenizer->byte_level ? "supported without a pre_tokenizer ByteLevel are the others"
                : first                ? "right is ByteLevel, as the pre_tokenizer is"
                                       : "supported is one ByteLevel");
}

static enum status add_decoding(struct tokenizer *tokenizer, const char *where, const json_t *object, const char *type)
{
    static const struct {
        const char *type;
        enum decoding_kind kind;
    } kinds[] = {
        { "ByteLevel", DECODE_BYTE_LEVEL }, { "Replace", DECODE_REPLACE }, { "ByteFallback", DECODE_BYTE_FALLBACK },
        { "Fuse", DECODE_FUSE }, { "Strip", DECODE_STRIP }, { "Metaspace", DECODE_METASPACE },
    };
    const char *scheme = json_text(object, "prepend_scheme"), *pattern = json_text(json_object_get(object, "pattern"), "String");
    TRY(check_decoder(tokenizer, where, object, type));
    TRY(check_place(tokenizer, where, type));
    if (tokenizer->decodings == DECODINGS_MOST)
        return fail(E_DATA, "%s: %s: more than %d decoders", tokenizer->path, where, DECODINGS_MOST);
    struct decoding *decoding = &tokenizer->decoding[tokenizer->decodings++];
    for (int64_t k = 0; k < ELEMENTS_OF(kinds); k++)
        if (strcmp(type, kinds[k].type) == 0)
            decoding->kind = kinds[k].kind;
    const char *sought = decoding->kind == DECODE_METASPACE ? json_text(object, "replacement") : decoding->kind == DECODE_STRIP ? json_text(object, "content") : pattern;
    const char *content = decoding->kind == DECODE_METASPACE ? " " : decoding->kind == DECODE_REPLACE ? json_text(object, "content") : NULL;
    decoding->pattern = sought == NULL ? NULL : strdup(sought);
    decoding->content = content == NULL ? NULL : strdup(content);
    decoding->start = (size_t)json_integer_value(json_object_get(object, "start"));
    decoding->stop = (size_t)json_integer_value(json_object_get(object, "stop"));
    decoding->opens = scheme == NULL || strcmp(scheme, "never") != 0;
    return OK;
}

static enum status read_decoder(struct tokenizer *tokenizer, const char *where, const json_t *object)
{
    static const char types[] = "ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip, Sequence";
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "decoders", KNOWN_ARRAY | KNOWN_NEEDED, "Sequence " }, { "pattern", KNOWN_OBJECT | KNOWN_NEEDED, "Replace " },
        { "content", KNOWN_TEXT | KNOWN_NEEDED, "Replace Strip " }, { "start", KNOWN_WHOLE | KNOWN_NEEDED, "Strip " }, { "stop", KNOWN_WHOLE | KNOWN_NEEDED, "Strip " },
        { "add_prefix_space", KNOWN_TRUTH, "ByteLevel Metaspace " }, { "trim_offsets", KNOWN_TRUTH, "ByteLevel " }, { "use_regex", KNOWN_TRUTH, "ByteLevel " },
        { "replacement", KNOWN_TEXT | KNOWN_NEEDED, "Metaspace " }, { "prepend_scheme", KNOWN_TEXT, "Metaspace " }, { "split", KNOWN_TRUTH, "Metaspace " }, { "str_rep", KNOWN_TEXT, "Metaspace " },
    };
    const char *type;
    json_t *part;
    size_t i;
    TRY(known_type(tokenizer->path, where, object, types, &type));
    TRY(known_keys(tokenizer->path, where, object, keys, ELEMENTS_OF(keys)));
    json_array_foreach(json_object_get(object, "decoders"), i, part) {
        char place[WHERE_BYTES];
        known_part(place, where, "decoders", i);
        TRY(read_decoder(tokenizer, place, part));
    }
    return strcmp(type, "Sequence") == 0 ? OK : add_decoding(tokenizer, where, object, type);
}

enum status stages_behind_model(struct tokenizer *tokenizer, json_t *root)
{
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab"), *processor = json_object_get(root, "post_processor");
    json_t *decoder = json_object_get(root, "decoder");
    TRY(added_check_vocabulary(tokenizer, json_object_get(root, "added_tokens"), vocab));
    TRY(added_read(tokenizer, json_object_get(root, "added_tokens")));
    if (json_is_object(processor))
        TRY(read_post_processor(tokenizer, "post_processor", processor, vocab));
    if (json_is_object(decoder))
        TRY(read_decoder(tokenizer, "decoder", decoder));
    if (json_is_object(decoder) && tokenizer->byte_level && tokenizer->decodings == 0)
        return fail(E_DATA, "%s: decoder.decoders is []; right is ByteLevel, as the pre_tokenizer is", tokenizer->path);
    return OK;
}
