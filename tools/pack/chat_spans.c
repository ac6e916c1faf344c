/* chat_spans.c: who says what in a rendered conversation, by where its bytes came from; see chat.h. */
#include "tools/pack/chat_inside.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEADER_BYTES_LEAST = 4 }; /* a match of the generation prompt's beginning that is shorter is chance */

/* Where one message's bytes lie in the text. */
struct place {
    bool said, content, call; /* content and call: bytes of that kind are there */
    bool looped;
    uint32_t said_begin, said_end;
    uint32_t first_run, last_run; /* of what it says */
    uint32_t loop_begin, loop_end;
};

static uint32_t run_end(const struct text *text, uint32_t r)
{
    return r + 1 < text->runs ? text->run[r + 1].begin : text->length;
}

static bool is_said(uint32_t origin)
{
    enum origin_part part = ORIGIN_PART(origin);
    return part == ORIGIN_CONTENT || part == ORIGIN_THOUGHT || part == ORIGIN_CALL;
}

static void note_run(struct place *place, struct run run, uint32_t end, uint32_t index)
{
    enum origin_part part = ORIGIN_PART(run.origin);
    if (part == ORIGIN_BEGIN && !place->said) { /* the last loop before the words counts: earlier ones only looked */
        place->looped = true;
        place->loop_begin = run.begin;
        place->loop_end = UINT32_MAX;
    }
    if (part == ORIGIN_END && place->loop_end == UINT32_MAX)
        place->loop_end = run.begin;
    if (!is_said(run.origin))
        return;
    if (!place->said) {
        place->said_begin = run.begin;
        place->first_run = index;
    }
    place->said = true;
    place->last_run = index;
    place->said_end = end;
    place->content = place->content || (part == ORIGIN_CONTENT && end > run.begin);
    place->call = place->call || (part == ORIGIN_CALL && end > run.begin);
}

static struct place *find_places(struct pool *pool, const struct text *text, size_t messages, bool *tools)
{
    struct place *places = pool_take(pool, messages * sizeof *places);
    for (uint32_t r = 0; r < text->runs; r++) {
        uint32_t end = run_end(text, r);
        uint32_t message = ORIGIN_MESSAGE(text->run[r].origin);
        *tools = *tools || (ORIGIN_PART(text->run[r].origin) == ORIGIN_TOOLS && end > text->run[r].begin);
        if (message >= 1 && message <= messages)
            note_run(&places[message - 1], text->run[r], end, r);
    }
    return places;
}

static bool is_blank(const json_t *content)
{
    if (!json_is_string(content))
        return true;
    const char *bytes = json_string_value(content);
    size_t length = json_string_length(content);
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r\n\v\f", bytes[i]) == NULL || bytes[i] == '\0')
            return false;
    return true;
}

/* True if all that the messages say is in the text. */
static bool nothing_lost(const json_t *messages, const struct place *places, bool tools_given, bool tools_shown, struct jinja_error *error)
{
    if (tools_given && !tools_shown) {
        snprintf(error->text, sizeof error->text, "the template leaves out the tools");
        return false;
    }
    for (size_t m = 0; m < json_array_size(messages); m++) {
        const json_t *message = json_array_get(messages, m);
        const char *role = json_string_value(json_object_get(message, "role")), *what = NULL;
        if (!is_blank(json_object_get(message, "content")) && !places[m].content)
            what = "content";
        if (json_array_size(json_object_get(message, "tool_calls")) > 0 && !places[m].call)
            what = "tool calls";
        if (what == NULL)
            continue;
        snprintf(error->text, sizeof error->text, "the template leaves out the %s of a message of role %.40s", what, role);
        return false;
    }
    return true;
}

/* True if run r is words of another message than this. */
static bool is_others(const struct text *text, uint32_t r, size_t message)
{
    uint32_t origin = text->run[r].origin;
    return is_said(origin) && ORIGIN_MESSAGE(origin) != message + 1 && run_end(text, r) > text->run[r].begin;
}

/* Where the last words of another message before this one's end. */
static uint32_t others_before(const struct text *text, const struct place *place, size_t message)
{
    for (uint32_t r = place->first_run; r-- > 0;)
        if (is_others(text, r, message))
            return run_end(text, r);
    return 0;
}

/* Where the next message begins behind this one's words: its loop or its words. */
static uint32_t others_after(const struct text *text, const struct place *place, size_t message)
{
    for (uint32_t r = place->last_run + 1; r < text->runs; r++) {
        uint32_t origin = text->run[r].origin;
        bool begins = ORIGIN_PART(origin) == ORIGIN_BEGIN && ORIGIN_MESSAGE(origin) != message + 1;
        if (begins || is_others(text, r, message))
            return text->run[r].begin;
    }
    return text->length;
}

/* Behind the generation prompt, or as much of its beginning as can be found, in [low, high): the last of the longest. */
static uint32_t behind_header(const struct chat *chat, const struct text *text, uint32_t low, uint32_t high)
{
    uint32_t best = 0, behind = low;
    for (uint32_t at = low; at < high; at++) {
        uint32_t same = 0;
        while (same < chat->header_bytes && at + same < high && text->bytes[at + same] == chat->header[same])
            same++;
        if (same >= best && same >= (chat->header_bytes < HEADER_BYTES_LEAST ? chat->header_bytes : HEADER_BYTES_LEAST) && same > 0) {
            best = same;
            behind = at + same;
        }
    }
    return behind;
}

static bool span_of(const struct chat *chat, const struct text *text, const struct place *place, size_t message, struct span *span,
                    struct jinja_error *error)
{
    for (uint32_t r = place->first_run; r < place->last_run; r++)
        if (is_others(text, r, message)) {
            snprintf(error->text, sizeof error->text, "the template mixes the words of several messages");
            return false;
        }
    uint32_t before = others_before(text, place, message);
    uint32_t low = place->looped && place->loop_begin > before ? place->loop_begin : before;
    span->begin = behind_header(chat, text, low, place->said_begin);
    if (span->begin == low && !(place->looped && low == place->loop_begin)) {
        snprintf(error->text, sizeof error->text,
                 "where the assistant begins cannot be told: mark it with {%% generation %%} in the template");
        return false;
    }
    span->said_end = place->said_end;
    span->limit = others_after(text, place, message);
    span->end = place->said_end;
    span->message = (int32_t)message;
    return true;
}

/* The spans between the marks of {% generation %}; each is of the message whose loop or words it is in. */
static bool marked_spans(const struct text *text, const json_t *messages, struct span *spans, int *count, struct jinja_error *error)
{
    uint32_t message = 0, begin = UINT32_MAX;
    for (uint32_t r = 0; r < text->runs; r++) {
        uint32_t origin = text->run[r].origin;
        if (ORIGIN_PART(origin) == ORIGIN_BEGIN || is_said(origin))
            message = ORIGIN_MESSAGE(origin);
        if (ORIGIN_PART(origin) == ORIGIN_GENERATION_BEGIN)
            begin = text->run[r].begin;
        if (ORIGIN_PART(origin) != ORIGIN_GENERATION_END || begin == UINT32_MAX)
            continue;
        if (message == 0 || *count >= (int)json_array_size(messages)) {
            snprintf(error->text, sizeof error->text, "{%% generation %%} stands where no message is");
            return false;
        }
        uint32_t end = text->run[r].begin;
        spans[(*count)++] = (struct span){ begin, end, end, end, (int32_t)message - 1, true };
        begin = UINT32_MAX;
    }
    return true;
}

bool chat_spans(const struct chat *chat, struct pool *pool, const struct text *text, const json_t *messages, bool tools,
                struct span **spans, int *count, struct jinja_error *error)
{
    size_t all = json_array_size(messages);
    bool tools_shown = false;
    struct place *places = find_places(pool, text, all, &tools_shown);
    *spans = pool_take(pool, all * sizeof **spans);
    *count = 0;
    error->line = 0;
    if (!nothing_lost(messages, places, tools, tools_shown, error))
        return false;
    if (chat->marks_generation)
        return marked_spans(text, messages, *spans, count, error);
    for (size_t m = 0; m < all; m++) {
        const char *role = json_string_value(json_object_get(json_array_get(messages, m), "role"));
        if (strcmp(role, "assistant") != 0)
            continue;
        if (!places[m].said) {
            snprintf(error->text, sizeof error->text, "the template leaves out an assistant's message");
            return false;
        }
        if (!span_of(chat, text, &places[m], m, &(*spans)[(*count)++], error))
            return false;
    }
    return true;
}

void span_close(const struct chat *chat, const struct tokenizer *tokenizer, const struct text *text, const struct tokens *tokens,
                struct span *span)
{
    if (span->closed)
        return;
    span->closed = true;
    int32_t eos = chat->eos != NULL ? tokenizer_id(tokenizer, chat->eos) : -1;
    int64_t low = 0, high = tokens->count; /* the first token that begins at said_end or later */
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (tokens->begin[middle] < span->said_end)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t t = low; t < tokens->count && tokens->begin[t] < span->limit; t++)
        if (tokenizer_special(tokenizer, tokens->id[t]) || tokens->id[t] == eos) {      /* what it swallows of the white space behind it is not counted */
            span->end = tokens->begin[t] + (uint32_t)tokenizer_bytes(tokenizer, tokens->id[t]);
            return;
        }
    uint32_t end = span->limit;
    while (end > span->said_end && strchr(" \t\r\n", text->bytes[end - 1]) != NULL)
        end--;
    span->end = end;
}
