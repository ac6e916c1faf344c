/* stages_before.c: what a text goes through before the model: normalizers and pre-tokenizers of tokenizer.json (tokenizer_inside.h). Build host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pack/known.h"
#include "tools/pack/tokenizer_inside.h"

enum { SHOWN = 80 };

#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* What the reference calls punctuation. */
#define PUNCTUATION "[!-/:-@\\[-`{-~]|\\p{P}"

/* ---- normalizers ---- */

static enum status add_normalizer(struct tokenizer *tokenizer, struct normalizer normalizer)
{
    if (tokenizer->normalizers == NORMALIZERS_MOST)
        return fail(E_DATA, "%s: more than %d normalizers", tokenizer->path, NORMALIZERS_MOST);
    tokenizer->normalizer[tokenizer->normalizers++] = normalizer;
    return OK;
}

/* The pattern of a Replace or Split: a string that is sought as it is, or a regular expression; the other is NULL. */
static enum status read_pattern(const struct tokenizer *tokenizer, const char *where, json_t *object, const char **text, const char **regex)
{
    static const struct known keys[] = { { "String", KNOWN_TEXT, NULL }, { "Regex", KNOWN_TEXT, NULL } };
    char part[WHERE_BYTES + 16];
    json_t *pattern = json_object_get(object, "pattern");
    snprintf(part, sizeof part, "%s.pattern", where);
    TRY(known_keys(tokenizer->path, part, pattern, keys, ELEMENTS_OF(keys)));
    *text = json_text(pattern, "String");
    *regex = json_text(pattern, "Regex");
    if (json_object_size(pattern) != 1 || (*text != NULL && (*text)[0] == '\0'))
        return fail(E_DATA, "%s: %s has %s; right is one of String and Regex, and no empty string", tokenizer->path, part,
                    json_object_size(pattern) == 1 ? "an empty string" : json_object_size(pattern) == 0 ? "neither String nor Regex" : "both");
    return OK;
}

static enum status read_replace(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    const char *text, *regex;
    TRY(read_pattern(tokenizer, where, object, &text, &regex));
    if (regex != NULL)
        return fail(E_DATA, "%s: %s.pattern.Regex is \"%.*s\"; supported is String", tokenizer->path, where, SHOWN, regex);
    return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_REPLACE, .pattern = strdup(text), .content = strdup(json_text(object, "content")) });
}

static enum status read_normalizer(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    static const char types[] = "NFC, NFD, NFKC, NFKD, Lowercase, Strip, Prepend, Replace, Sequence";
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "normalizers", KNOWN_ARRAY | KNOWN_NEEDED, "Sequence " }, { "prepend", KNOWN_TEXT | KNOWN_NEEDED, "Prepend " },
        { "pattern", KNOWN_OBJECT | KNOWN_NEEDED, "Replace " }, { "content", KNOWN_TEXT | KNOWN_NEEDED, "Replace " },
        { "strip_left", KNOWN_TRUTH | KNOWN_NEEDED, "Strip " }, { "strip_right", KNOWN_TRUTH | KNOWN_NEEDED, "Strip " },
    };
    static const char *const forms[] = { "NFC", "NFD", "NFKC", "NFKD" };
    const char *type;
    json_t *part;
    size_t i;
    TRY(known_type(tokenizer->path, where, object, types, &type));
    TRY(known_keys(tokenizer->path, where, object, keys, ELEMENTS_OF(keys)));
    json_array_foreach(json_object_get(object, "normalizers"), i, part) {
        char place[WHERE_BYTES];
        known_part(place, where, "normalizers", i);
        TRY(read_normalizer(tokenizer, place, part));
    }
    for (int64_t form = 0; form < ELEMENTS_OF(forms); form++)
        if (strcmp(type, forms[form]) == 0)
            return add_normalizer(tokenizer, (struct normalizer){ .kind = (enum normalizer_kind)(NORMALIZE_NFC + form) });
    if (strcmp(type, "Prepend") == 0)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_PREPEND, .content = strdup(json_text(object, "prepend")) });
    if (strcmp(type, "Replace") == 0)
        return read_replace(tokenizer, where, object);
    if (strcmp(type, "Lowercase") == 0)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_LOWER });
    if (strcmp(type, "Strip") == 0)
        return add_normalizer(tokenizer, (struct normalizer){ .kind = NORMALIZE_STRIP, .left = json_truth(object, "strip_left", false),
                                                              .right = json_truth(object, "strip_right", false) });
    return OK;
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

static enum status read_behaviour(const struct tokenizer *tokenizer, const char *where, const char *name, enum split_behaviour *behaviour)
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
    return fail(E_DATA, "%s: %s.behavior is \"%.*s\"; supported are Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous", tokenizer->path, where,
                SHOWN, name == NULL ? "" : name);
}

static enum status read_split(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    const char *regex, *text;
    enum split_behaviour behaviour = SPLIT_ISOLATED;
    TRY(read_pattern(tokenizer, where, object, &text, &regex));
    TRY(read_behaviour(tokenizer, where, json_text(object, "behavior"), &behaviour));
    char *pattern = regex != NULL ? strdup(regex) : quoted(text);
    enum status status = add_splitter(tokenizer, pattern, behaviour, json_truth(object, "invert", false));
    free(pattern);
    return status;
}

/* What is put before a text goes before the whole stretch, so nothing may have cut it before. */
static enum status add_opening(struct tokenizer *tokenizer, const char *where, struct opening opening)
{
    if (tokenizer->splitters > 0 || tokenizer->opening.mark != NULL) {
        free(opening.mark);
        return fail(E_DATA, "%s: %s puts a mark before words and stands behind another; it is supported as the first", tokenizer->path, where);
    }
    tokenizer->opening = opening;
    return OK;
}

static enum status read_metaspace(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    static const char *const schemes[] = { "never", "always", "first" };
    const char *mark = json_text(object, "replacement"), *scheme = json_text(object, "prepend_scheme");
    int32_t found = scheme == NULL ? OPEN_ALWAYS : OPEN_NEVER;
    while (scheme != NULL && found < ELEMENTS_OF(schemes) && strcmp(scheme, schemes[found]) != 0)
        found++;
    if (!json_is_character(mark) || found == ELEMENTS_OF(schemes))
        return fail(E_DATA, "%s: %s: replacement is \"%.*s\", prepend_scheme \"%.*s\"; right are a character, and always, first or never",
                    tokenizer->path, where, SHOWN, mark, SHOWN, scheme == NULL ? "" : scheme);
    if (!json_truth(object, "add_prefix_space", true) && found != OPEN_NEVER)
        return fail(E_DATA, "%s: %s.add_prefix_space is false, prepend_scheme is not \"never\": which is right?", tokenizer->path, where);
    TRY(add_opening(tokenizer, where, (struct opening){ (enum opening_scheme)found, strdup(mark), true }));
    if (!json_truth(object, "split", true))
        return OK;
    char *pattern = quoted(mark);
    enum status status = add_splitter(tokenizer, pattern, SPLIT_WITH_NEXT, false);
    free(pattern);
    return status;
}

static enum status read_punctuation(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    enum split_behaviour behaviour = SPLIT_ISOLATED;
    if (json_object_get(object, "behavior") != NULL)
        TRY(read_behaviour(tokenizer, where, json_text(object, "behavior"), &behaviour));
    return add_splitter(tokenizer, PUNCTUATION, behaviour, false);
}

static enum status read_pre_tokenizer(struct tokenizer *tokenizer, const char *where, json_t *object)
{
    static const char types[] = "Split, Digits, ByteLevel, Metaspace, Punctuation, Whitespace, WhitespaceSplit, Sequence";
    static const struct known keys[] = {
        { "type", KNOWN_TEXT, NULL }, { "pretokenizers", KNOWN_ARRAY | KNOWN_NEEDED, "Sequence " }, { "pattern", KNOWN_OBJECT | KNOWN_NEEDED, "Split " },
        { "behavior", KNOWN_TEXT, "Split Punctuation " }, { "invert", KNOWN_TRUTH, "Split " },
        { "individual_digits", KNOWN_TRUTH, "Digits " }, { "add_prefix_space", KNOWN_TRUTH, "ByteLevel Metaspace " }, { "trim_offsets", KNOWN_TRUTH, "ByteLevel " }, { "use_regex", KNOWN_TRUTH, "ByteLevel " },
        { "replacement", KNOWN_TEXT | KNOWN_NEEDED, "Metaspace " }, { "prepend_scheme", KNOWN_TEXT, "Metaspace " }, { "split", KNOWN_TRUTH, "Metaspace " }, { "str_rep", KNOWN_TEXT, "Metaspace " },
    };
    const char *type;
    json_t *part;
    size_t i;
    TRY(known_type(tokenizer->path, where, object, types, &type));
    TRY(known_keys(tokenizer->path, where, object, keys, ELEMENTS_OF(keys)));
    json_array_foreach(json_object_get(object, "pretokenizers"), i, part) {
        char place[WHERE_BYTES];
        known_part(place, where, "pretokenizers", i);
        TRY(read_pre_tokenizer(tokenizer, place, part));
    }
    if (strcmp(type, "Sequence") == 0)
        return OK;
    /* The reference cuts the bytes' stand-ins there, which this file never sees. */
    if (tokenizer->byte_level)
        return fail(E_DATA, "%s: %s.type is \"%s\", behind ByteLevel; supported is ByteLevel as the last", tokenizer->path, where, type);
    if (strcmp(type, "Split") == 0)
        return read_split(tokenizer, where, object);
    if (strcmp(type, "Digits") == 0)
        return add_splitter(tokenizer, json_truth(object, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", SPLIT_ISOLATED, false);
    if (strcmp(type, "ByteLevel") == 0) {
        if (json_truth(object, "add_prefix_space", true))
            TRY(add_opening(tokenizer, where, (struct opening){ OPEN_ALWAYS, strdup(" "), false }));
        tokenizer->byte_level = true;
        return json_truth(object, "use_regex", true) ? add_splitter(tokenizer, GPT2_PATTERN, SPLIT_ISOLATED, false) : OK;
    }
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(tokenizer, where, object);
    if (strcmp(type, "Punctuation") == 0)
        return read_punctuation(tokenizer, where, object);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_splitter(tokenizer, "\\s", SPLIT_REMOVED, false);
    return add_splitter(tokenizer, WORD "+|(?:(?!" WORD ")\\S)+", SPLIT_REMOVED, true);      /* Whitespace */
}

enum status stages_before_model(struct tokenizer *tokenizer, json_t *root)
{
    json_t *normalizer = json_object_get(root, "normalizer"), *pre_tokenizer = json_object_get(root, "pre_tokenizer");
    if (json_is_object(normalizer))
        TRY(read_normalizer(tokenizer, "normalizer", normalizer));
    return json_is_object(pre_tokenizer) ? read_pre_tokenizer(tokenizer, "pre_tokenizer", pre_tokenizer) : OK;
}
