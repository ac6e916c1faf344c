/* document.c: see document.h. */
#include "tools/pack/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void outcome_close(struct outcome *outcome)
{
    for (uint32_t d = 0; d < outcome->documents; d++)
        free((void *)(uintptr_t)outcome->document[d].token);
    free(outcome->document);
    free(outcome->refusal);
    outcome->document = NULL;
    outcome->refusal = NULL;
    outcome->documents = outcome->room = 0;
}

enum status worker_open(struct worker *worker, const struct document_options *options)
{
    *worker = (struct worker){ .options = options };
    return encoder_open(&worker->encoder, options->tokenizer);
}

void worker_close(struct worker *worker)
{
    encoder_close(worker->encoder);
    pool_close(&worker->pool);
    free(worker->token);
    free(worker->begin);
    free(worker->learned);
}

/* ---- scratch tokens ---- */

static void scratch_reserve(struct worker *worker, int64_t more)
{
    if (worker->count + more <= worker->room)
        return;
    worker->room = (worker->count + more) * 2;
    worker->token = memory_grow(worker->token, (size_t)worker->room * sizeof *worker->token);
    worker->begin = memory_grow(worker->begin, (size_t)worker->room * sizeof *worker->begin);
    worker->learned = memory_grow(worker->learned, (size_t)worker->room);
}

static void scratch_put(struct worker *worker, const int32_t *token, const uint32_t *begin, int64_t count, uint32_t offset, bool learned)
{
    scratch_reserve(worker, count);
    memcpy(worker->token + worker->count, token, (size_t)count * sizeof *token);
    for (int64_t t = 0; t < count; t++)
        worker->begin[worker->count + t] = begin != NULL ? begin[t] + offset : offset;
    memset(worker->learned + worker->count, learned, (size_t)count);
    worker->count += count;
}

/* Copies the scratch tokens [from, to) into a document of the outcome. */
static void keep(struct worker *worker, struct outcome *outcome, int64_t from, int64_t to)
{
    size_t tokens = (size_t)(to - from);
    int32_t *token = memory_take(tokens * (sizeof *token + 1));
    uint8_t *learned = (uint8_t *)(token + tokens);
    memcpy(token, worker->token + from, tokens * sizeof *token);
    memcpy(learned, worker->learned + from, tokens);
    learned[0] = 0;
    MEMORY_ROOM(outcome->document, outcome->documents, outcome->room);
    outcome->document[outcome->documents++] = (struct pack_document){ .token = token, .learned = learned, .tokens = (uint32_t)tokens };
}

/* Behind the last token that is learned; 0 if only the first is, or none. */
static int64_t learned_end(const struct worker *worker, int64_t count)
{
    while (count > 1 && !worker->learned[count - 1])
        count--;
    return count > 1 ? count : 0;
}

/* The greatest place at most at where a cut goes through no character of text. */
static int64_t whole_characters(const struct worker *worker, const char *text, int64_t at)
{
    while (at > 1 && at < worker->count &&
           (((unsigned char)text[worker->begin[at]] & 0xc0) == 0x80 || worker->begin[at] == worker->begin[at - 1]))
        at--;
    return at;
}

static bool encode(struct worker *worker, const char *text, size_t bytes, bool plain, struct tokens *tokens, struct refusal *refusal)
{
    if (tokenizer_encode(worker->encoder, text, bytes, plain, tokens) == OK)
        return true;
    return refuse(refusal, BROKEN_ENCODE, "%s", status_message());
}

/* ---- control text: special tokens that stand in what is said, not in the template ---- */

static uint32_t token_end(const struct tokens *tokens, int64_t t, uint32_t length)
{
    return t + 1 < tokens->count ? tokens->begin[t + 1] : length;
}

/* True if a byte of the special token at t comes from a message. */
static bool is_said(const struct text *text, const struct tokens *tokens, int64_t t)
{
    for (uint32_t byte = tokens->begin[t], end = token_end(tokens, t, text->length); byte < end; byte++) {
        if (byte > tokens->begin[t] && strchr(" \t\r\n", text->bytes[byte]) != NULL)
            break; /* white space that the token swallows is no part of it */
        if (text_origin(text, byte) != ORIGIN_TEMPLATE)
            return true;
    }
    return false;
}

/* Tokenizes a rendering under the control policy into the scratch tokens, none of them learned yet. */
static bool encode_chat(struct worker *worker, const struct text *text, struct outcome *outcome)
{
    struct tokens tokens;
    const struct tokenizer *tokenizer = worker->options->tokenizer;
    worker->count = 0;
    if (!encode(worker, text->bytes, text->length, false, &tokens, &worker->refusal))
        return false;
    bool control = false;
    for (int64_t t = 0; t < tokens.count && !control; t++)
        control = tokenizer_special(tokenizer, tokens.id[t]) && is_said(text, &tokens, t);
    if (control && worker->options->control == CONTROL_REFUSE)
        return refuse(&worker->refusal, BROKEN_CONTROL, "a message holds the text of a special token; --control text keeps it as text");
    outcome->notes |= (uint64_t)control << NOTED_CONTROL;
    if (!control || worker->options->control == CONTROL_TOKEN) {
        scratch_put(worker, tokens.id, tokens.begin, tokens.count, 0, false);
        return true;
    }
    /* The template's own special tokens stay; what lies between two of them is tokenized with all others as text. Special tokens part the text
     * before anything else is done with it, so nothing else changes. */
    struct tokens own = { .count = 0 };
    int32_t *id = pool_take(&worker->pool, (size_t)tokens.count * sizeof *id);
    uint32_t *begin = pool_take(&worker->pool, (size_t)(tokens.count + 1) * sizeof *begin),
             *end = pool_take(&worker->pool, (size_t)tokens.count * sizeof *end);
    for (int64_t t = 0; t < tokens.count; t++) {
        if (!tokenizer_special(tokenizer, tokens.id[t]) || is_said(text, &tokens, t))
            continue;
        id[own.count] = tokens.id[t];
        begin[own.count] = tokens.begin[t];
        end[own.count++] = token_end(&tokens, t, text->length);
    }
    uint32_t at = 0;
    begin[own.count] = text->length;
    for (int64_t t = 0; t <= own.count; t++) {
        if (begin[t] > at) {
            if (!encode(worker, text->bytes + at, begin[t] - at, true, &tokens, &worker->refusal))
                return false;
            scratch_put(worker, tokens.id, tokens.begin, tokens.count, at, false);
        }
        if (t == own.count)
            break;
        scratch_put(worker, &id[t], NULL, 1, begin[t], false);
        at = end[t];
    }
    return true;
}

/* ---- conversations ---- */

/* The first token from low on that begins at byte or later. */
static int64_t token_at(const struct worker *worker, int64_t low, uint32_t byte)
{
    int64_t high = worker->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (worker->begin[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void learn_span(struct worker *worker, const struct span *span)
{
    for (int64_t t = token_at(worker, 0, span->begin); t < worker->count && worker->begin[t] < span->end; t++)
        worker->learned[t] = 1;
}

/* At a cut before token at: the end of a turn is not learned unless all of it is there. */
static void forget_cut_end(struct worker *worker, const struct span *span, int64_t at)
{
    if (at >= worker->count || worker->begin[at] >= span->end || worker->begin[at] <= span->said_end || span->said_end >= span->end)
        return;
    for (int64_t t = at - 1; t >= 0 && worker->begin[t] >= span->said_end; t--)
        worker->learned[t] = 0;
}

static bool is_learned(const struct worker *worker, const struct example *example, int32_t message, bool last)
{
    if (example->loss[message] != LOSS_UNSAID)
        return example->loss[message] == LOSS_YES;
    return worker->options->loss == LOSS_ALL || last;
}

static bool make_chat(struct worker *worker, const struct example *example, struct outcome *outcome)
{
    struct text text;
    struct jinja_error error;
    struct span *span;
    int spans;
    const struct chat *chat = worker->options->chat;
    size_t messages = json_array_size(example->messages);
    if (chat_name(chat) == NULL)
        return refuse(&worker->refusal, BROKEN_NO_TEMPLATE, "the model brings no chat template: --template says which to take");
    if (!chat_render(chat, &worker->pool, example->messages, example->tools, false, &text, &error))
        return refuse(&worker->refusal, BROKEN_TEMPLATE, "template line %d: %.150s", error.line, error.text);
    if (!chat_spans(chat, &worker->pool, &text, example->messages, example->tools != NULL, &span, &spans, &error))
        return refuse(&worker->refusal, DROPPED_LEFT_OUT, "%.190s", error.text);
    if (!encode_chat(worker, &text, outcome))
        return false;
    const struct tokens tokens = { .id = worker->token, .begin = worker->begin, .count = worker->count };
    for (int s = 0; s < spans; s++) {
        span_close(chat, worker->options->tokenizer, &text, &tokens, &span[s]);
        if (is_learned(worker, example, span[s].message, s == spans - 1))
            learn_span(worker, &span[s]);
    }
    int64_t all = learned_end(worker, worker->count), at = all;
    const char *role = json_string_value(json_object_get(json_array_get(example->messages, messages - 1), "role"));
    if (all == 0)
        return refuse(&worker->refusal, DROPPED_NO_TARGET,
                      spans == 0 ? "no message of the assistant" : "no message of the assistant is to be learned");
    if (strcmp(role, "assistant") != 0)
        outcome->notes |= 1ull << NOTED_LAST_TURN;
    if (all > worker->options->sequence_tokens) {
        if (worker->options->too_long == LONG_DROP)
            return refuse(&worker->refusal, DROPPED_LONG, "%lld tokens", (long long)all);
        at = whole_characters(worker, text.bytes, worker->options->sequence_tokens);
        for (int s = 0; s < spans; s++)
            forget_cut_end(worker, &span[s], at);
        at = learned_end(worker, at);
        if (at == 0)
            return refuse(&worker->refusal, DROPPED_CUT, "%lld tokens, the assistant speaks after the first %u", (long long)all,
                          worker->options->sequence_tokens);
        outcome->notes |= 1ull << NOTED_CUT;
    }
    keep(worker, outcome, 0, at);
    return true;
}

/* ---- plain text ---- */

/* Cuts the scratch tokens into documents: each begins with the prefix, or where there is none with the last token of the one before, so that
 * every token of the text is learned once. */
static void keep_pieces(struct worker *worker, const char *text, struct outcome *outcome, int32_t prefixes)
{
    int64_t most = worker->options->sequence_tokens, from = 0;
    while (worker->count - from > most) {
        int64_t to = whole_characters(worker, text, from + most);
        int64_t next = prefixes > 0 ? to - prefixes : to - 1;
        if (next <= from) /* a character of more tokens than fit: cut it all the same */
            to = from + most, next = prefixes > 0 ? to - prefixes : to - 1;
        keep(worker, outcome, from, to);
        for (int32_t p = 0; p < prefixes; p++) {
            worker->token[next + p] = worker->token[p];
            worker->learned[next + p] = 0;
        }
        from = next;
        outcome->notes |= 1ull << NOTED_CONTINUED;
    }
    if (worker->count - from > (prefixes > 0 ? prefixes : 1))
        keep(worker, outcome, from, worker->count);
}

static bool make_text(struct worker *worker, const struct example *example, struct outcome *outcome)
{
    struct tokens tokens;
    int32_t prefix[4], suffix[4];
    const struct document_options *options = worker->options;
    const char *text = json_string_value(example->text);
    uint32_t bytes = (uint32_t)json_string_length(example->text);
    int32_t prefixes = tokenizer_prefix(options->tokenizer, prefix), suffixes = tokenizer_suffix(options->tokenizer, suffix);
    if (bytes == 0)
        return refuse(&worker->refusal, DROPPED_EMPTY, "an empty text");
    if (!encode(worker, text, bytes, false, &tokens, &worker->refusal))
        return false;
    bool control = false;
    for (int64_t t = 0; t < tokens.count && !control; t++)
        control = tokenizer_special(options->tokenizer, tokens.id[t]);
    if (control && options->control == CONTROL_REFUSE)
        return refuse(&worker->refusal, BROKEN_CONTROL, "the text holds a special token; --control text keeps it as text");
    outcome->notes |= (uint64_t)control << NOTED_CONTROL;
    if (control && options->control == CONTROL_TEXT && !encode(worker, text, bytes, true, &tokens, &worker->refusal))
        return false;
    bool has_prefix = tokens.count >= prefixes && memcmp(tokens.id, prefix, (size_t)prefixes * sizeof *prefix) == 0;
    worker->count = 0;
    if (!has_prefix)
        scratch_put(worker, prefix, NULL, prefixes, 0, false);
    scratch_put(worker, tokens.id, tokens.begin, tokens.count, 0, true);
    bool has_suffix =
        worker->count > suffixes && memcmp(worker->token + worker->count - suffixes, suffix, (size_t)suffixes * sizeof *suffix) == 0;
    if (!has_suffix)
        scratch_put(worker, suffix, NULL, suffixes, bytes, true);
    int32_t eos = options->end_text && chat_eos(options->chat) != NULL ? tokenizer_id(options->tokenizer, chat_eos(options->chat)) : -1;
    if (eos >= 0 && (worker->count == 0 || worker->token[worker->count - 1] != eos))
        scratch_put(worker, &eos, NULL, 1, bytes, true);
    for (int32_t p = 0; p < prefixes && p < worker->count; p++)
        worker->learned[p] = 0;
    if (worker->count > options->sequence_tokens && options->too_long == LONG_DROP)
        return refuse(&worker->refusal, DROPPED_LONG, "%lld tokens", (long long)worker->count);
    if (learned_end(worker, worker->count) == 0)
        return refuse(&worker->refusal, DROPPED_NO_TARGET, "a text of %lld tokens", (long long)worker->count);
    keep_pieces(worker, text, outcome, prefixes);
    return true;
}

/* ---- already tokenized ---- */

static bool make_tokens(struct worker *worker, const struct example *example, struct outcome *outcome)
{
    size_t count = json_array_size(example->ids);
    int32_t vocabulary = tokenizer_vocabulary(worker->options->tokenizer);
    worker->count = 0;
    if (example->labels != NULL && json_array_size(example->labels) != count)
        return refuse(&worker->refusal, BROKEN_TOKENS, "%zu input_ids and %zu labels", count, json_array_size(example->labels));
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_array_get(example->ids, i), *label = json_array_get(example->labels, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= vocabulary)
            return refuse(&worker->refusal, BROKEN_TOKENS, "input_ids[%zu] is no id: right is 0 to %d", i, vocabulary - 1);
        bool learned = label == NULL || json_integer_value(label) != -100;
        if (label != NULL && (!json_is_integer(label) || (learned && json_integer_value(label) != json_integer_value(id))))
            return refuse(&worker->refusal, BROKEN_TOKENS, "labels[%zu] is neither -100 nor the token of its place", i);
        int32_t token = (int32_t)json_integer_value(id);
        scratch_put(worker, &token, NULL, 1, (uint32_t)i, learned);
    }
    int64_t all = learned_end(worker, worker->count), at = all;
    if (all > worker->options->sequence_tokens) {
        if (worker->options->too_long == LONG_DROP)
            return refuse(&worker->refusal, DROPPED_LONG, "%lld tokens", (long long)all);
        at = learned_end(worker, worker->options->sequence_tokens);
        outcome->notes |= 1ull << NOTED_CUT;
    }
    if (at == 0)
        return refuse(&worker->refusal, all > 0 ? DROPPED_CUT : DROPPED_NO_TARGET, "%lld tokens", (long long)worker->count);
    keep(worker, outcome, 0, at);
    return true;
}

/* ---- all kinds ---- */

static void hash_json(XXH64_state_t *state, const json_t *json)
{
    if (json_is_string(json)) {
        XXH64_update(state, json_string_value(json), json_string_length(json));
    } else if (json != NULL) {
        char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        if (text != NULL)
            XXH64_update(state, text, strlen(text));
        free(text);
    }
    XXH64_update(state, "", 1);
}

/* The same words are the same document, whatever form the file has and whatever else the row holds. */
static void hash_example(XXH64_state_t *state, const struct example *example)
{
    hash_json(state, example->text);
    hash_json(state, example->ids);
    hash_json(state, example->labels);
    for (size_t m = 0; m < json_array_size(example->messages); m++) {
        const json_t *message = json_array_get(example->messages, m);
        hash_json(state, json_object_get(message, "role"));
        hash_json(state, json_object_get(message, "reasoning_content"));
        hash_json(state, json_object_get(message, "content"));
        hash_json(state, json_object_get(message, "tool_calls"));
    }
}

static bool has_placeholder(const struct example *example)
{
    for (size_t m = 0; m < json_array_size(example->messages); m++) {
        const json_t *content = json_object_get(json_array_get(example->messages, m), "content");
        const char *text = json_string_value(content);
        if (text != NULL && (strstr(text, "{{name}}") != NULL || strstr(text, "{{author}}") != NULL))
            return true;
    }
    return false;
}

/* True if the assistant has messages, and not one of them has a word. */
static bool says_nothing(const struct example *example)
{
    bool speaks = false;
    for (size_t m = 0; m < json_array_size(example->messages); m++) {
        const json_t *message = json_array_get(example->messages, m);
        if (strcmp(json_string_value(json_object_get(message, "role")), "assistant") != 0)
            continue;
        speaks = true;
        if (json_string_length(json_object_get(message, "content")) > 0 || json_object_get(message, "tool_calls") != NULL ||
            json_object_get(message, "reasoning_content") != NULL)
            return false;
    }
    return speaks;
}

void document_make(struct worker *worker, const struct examples *examples, struct outcome *outcome)
{
    XXH64_state_t *state = XXH64_createState();
    XXH64_reset(state, worker->options->seed);
    bool good = true;
    for (int i = 0; i < examples->count && good; i++) {
        const struct example *example = &examples->example[i];
        hash_example(state, example);
        if (example->kind == EXAMPLE_CHAT && says_nothing(example))
            good = refuse(&worker->refusal, DROPPED_EMPTY, "the assistant's answer is empty");
        else if (example->kind == EXAMPLE_CHAT)
            good = make_chat(worker, example, outcome);
        else
            good = example->kind == EXAMPLE_TEXT ? make_text(worker, example, outcome) : make_tokens(worker, example, outcome);
        outcome->notes |= (uint64_t)example->chosen << NOTED_CHOSEN;
        outcome->notes |= (uint64_t)has_placeholder(example) << NOTED_PLACEHOLDER;
        pool_reset(&worker->pool);
    }
    outcome->identity = XXH64_digest(state);
    XXH64_freeState(state);
    if (!good)
        outcome_close(outcome);
}
