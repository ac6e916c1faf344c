/* main.c: answers of a model to the questions of a data file, and how many are exactly right. Build host.
 *
 * usage: decode --model FOLDER [--show N] [--most TOKENS] [--limit ROWS] [--threads N] [--json FILE] rows.jsonl
 * A row is openai messages; the last assistant message is the right answer, what comes before it is the question. The prompt is rendered by
 * the model's own chat template. Exact: the answer equals the right one, white space at both ends aside. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/decode/decoder.h"
#include "tools/pack/chat.h"
#include "tools/pack/tokenizer.h"

enum { POSITIONS = 1024, LINE_BYTES = 1 << 20 };

struct options {
    const char *model, *rows, *json;
    int64_t show, most, limit;
    int32_t threads;
};

static enum status read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){ .most = 64, .limit = INT64_MAX, .threads = 1 };
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-') {
            options->rows = argv[i];
            continue;
        }
        if (value == NULL)
            return fail(E_USAGE, "%s needs a value", argv[i]);
        if (strcmp(argv[i], "--model") == 0)
            options->model = value;
        else if (strcmp(argv[i], "--json") == 0)
            options->json = value;
        else if (strcmp(argv[i], "--show") == 0)
            options->show = atoll(value);
        else if (strcmp(argv[i], "--most") == 0)
            options->most = atoll(value);
        else if (strcmp(argv[i], "--limit") == 0)
            options->limit = atoll(value);
        else if (strcmp(argv[i], "--threads") == 0)
            options->threads = (int32_t)atoi(value);
        else
            return fail(E_USAGE, "unknown option %s; there are --model, --json, --show, --most, --limit, --threads", argv[i]);
        i++;
    }
    if (options->model == NULL || options->rows == NULL)
        return fail(E_USAGE, "usage: decode --model FOLDER [--show N] [--most TOKENS] [--limit ROWS] [--threads N] [--json FILE] rows.jsonl");
    if (options->most < 1 || options->most > POSITIONS || options->threads < 1 || options->threads > TEAM_THREADS_MOST)
        return fail(E_USAGE, "--most is 1 to %d, --threads 1 to %d", POSITIONS, TEAM_THREADS_MOST);
    return OK;
}

/* Ends at any special token: end of turn, end of text. */
static bool is_special(void *tokenizer, int32_t id)
{
    return tokenizer_special(tokenizer, id);
}

/* The text without white space at both ends; cuts in place. */
static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

struct session {
    struct options options;
    struct tokenizer *tokenizer;
    struct encoder *encoder;
    struct chat *chat;
    struct pool pool;
    struct decoder *decoder;
    json_t *answers;
    int64_t rows, exact;
};

static enum status answer_row(struct session *session, const char *line, int64_t number)
{
    json_error_t error;
    json_t *row = json_loads(line, 0, &error), *messages = json_object_get(row, "messages");
    size_t count = json_array_size(messages);
    if (count < 2)
        return fail(E_DATA, "%s:%lld: no messages with a question and an answer", session->options.rows, (long long)number);
    json_t *right = json_object_get(json_array_get(messages, count - 1), "content");
    json_t *question = json_object_get(json_array_get(messages, count - 2), "content");
    if (!json_is_string(right) || !json_is_string(question))
        return fail(E_DATA, "%s:%lld: content is not a text", session->options.rows, (long long)number);
    char *expected = strdup(json_string_value(right)), *asked = strdup(json_string_value(question)), *answer = NULL;
    ASSERT(expected != NULL && asked != NULL);
    json_array_remove(messages, count - 1);
    struct text prompt;
    struct jinja_error refusal;
    struct tokens tokens;
    int32_t id[POSITIONS];
    if (!chat_render(session->chat, &session->pool, messages, NULL, true, &prompt, &refusal))
        return fail(E_DATA, "%s:%lld: the template: %s", session->options.rows, (long long)number, refusal.text);
    TRY(tokenizer_encode(session->encoder, prompt.bytes, prompt.length, false, &tokens));
    pool_reset(&session->pool);
    int64_t written = decoder_greedy(session->decoder, tokens.id, tokens.count, id, session->options.most, is_special, session->tokenizer);
    TRY(tokenizer_decode(session->tokenizer, id, written, true, &answer, NULL));
    bool exact = strcmp(trimmed(answer), trimmed(expected)) == 0;
    session->rows++;
    session->exact += exact;
    if (session->rows <= session->options.show) {
        printf("    asked     %s\n    answered  %s\n    right     %s  %s\n\n", asked, trimmed(answer), trimmed(expected), exact ? "(exact)" : "");
        json_array_append_new(session->answers, json_pack("{s:s, s:s, s:s, s:b}", "question", asked, "answer", trimmed(answer), "right",
                                                          trimmed(expected), "exact", (int)exact));
    }
    free(expected);
    free(asked);
    free(answer);
    json_decref(row);
    return OK;
}

static enum status answer_all(struct session *session)
{
    FILE *file = fopen(session->options.rows, "r");
    if (file == NULL)
        return fail(E_READ, "%s: %s", session->options.rows, strerror(errno));
    char *line = malloc(LINE_BYTES);
    ASSERT(line != NULL);
    enum status status = OK;
    for (int64_t number = 1; status == OK && session->rows < session->options.limit && fgets(line, LINE_BYTES, file) != NULL; number++)
        if (*trimmed(line) != '\0')
            status = answer_row(session, line, number);
    fclose(file);
    free(line);
    if (status == OK && session->rows == 0)
        status = fail(E_DATA, "%s: no rows", session->options.rows);
    return status;
}

int main(int argc, char **argv)
{
    status_program("decode");
    struct session session = { .answers = json_array() };
    struct queue queue = { 0 };
    char path[4096];
    TRY(read_options(argc, argv, &session.options));
    snprintf(path, sizeof path, "%s/tokenizer.json", session.options.model);
    TRY(tokenizer_open(&session.tokenizer, path));
    TRY(encoder_open(&session.encoder, session.tokenizer));
    TRY(chat_open(&session.chat, session.options.model, NULL, NULL, 0));
    TRY(team_open(&queue.team, session.options.threads));
    TRY(decoder_open(&session.decoder, session.options.model, POSITIONS, &queue));
    TRY(answer_all(&session));
    double share = (double)session.exact / (double)session.rows;
    printf("%lld of %lld answers exactly right: %.1f %%\n", (long long)session.exact, (long long)session.rows, 100.0 * share);
    if (session.options.json != NULL) {
        json_t *result = json_pack("{s:I, s:I, s:f, s:o}", "rows", (json_int_t)session.rows, "exact", (json_int_t)session.exact, "exact_match", share,
                                   "answers", session.answers);
        if (json_dump_file(result, session.options.json, JSON_INDENT(1)) != 0)
            return fail(E_READ, "%s: cannot be written", session.options.json);
    }
    return OK;
}
