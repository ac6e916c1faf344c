/* pack.c: rows of text in, data.pack out: the way of the data on one page. Head node, before the night.
 *
 * (1) Nothing is written unless all of it is good: a pack appears whole or not at all.
 * (2) Same files, options and tokenizer: same bytes, on any number of threads, in any folder, on any day. */
#include "tools/pack/pack.h"

#include "tools/pack/options.h"
#include "tools/pack/outputs.h"
#include "tools/pack/report.h"
#include "tools/pack/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

struct job {
    struct options options;
    struct rows rows;
    struct outcomes outcomes;
    struct counts counts;
    struct selection learn, held;
    struct tokenizer *tokenizer;
    struct chat *chat;
    uint64_t tokenizer_hash;
};

static enum status open_tokenizer(struct job *job)
{
    char path[4096];
    struct source source;
    snprintf(path, sizeof path, "%s/tokenizer.json", job->options.tokenizer);
    TRY(source_open(&source, path, 1 << 30));
    job->tokenizer_hash = XXH64(source.data, source.bytes, 0);
    source_close(&source);
    return tokenizer_open(&job->tokenizer, path);
}

static enum status read_rows(struct job *job)
{
    const struct options *options = &job->options;
    for (int i = 0; i < options->files; i++)
        TRY(rows_add(&job->rows, options->file[i], false, options->seed));
    for (int i = 0; i < options->held_files.count; i++)
        TRY(rows_add(&job->rows, options->held_files.value[i], true, options->seed));
    return OK;
}

static enum status make_documents(struct job *job)
{
    const struct options *options = &job->options;
    const struct form_options form = {
        .map = options->maps,
        .maps = options->maps_count,
        .role = options->roles,
        .roles = options->roles_count,
        .fill = options->fills,
        .fills = options->fills_count,
        .system = options->system,
        .knows_reasoning = chat_knows_reasoning(job->chat),
    };
    const struct document_options document = {
        .tokenizer = job->tokenizer,
        .chat = job->chat,
        .sequence_tokens = options->sequence_tokens,
        .loss = options->loss,
        .control = options->control,
        .too_long = options->too_long,
        .end_text = options->end_text,
        .seed = options->seed,
    };
    if (options->end_text && (chat_eos(job->chat) == NULL || tokenizer_id(job->tokenizer, chat_eos(job->chat)) < 0))
        return fail(E_DATA, "--end-text: %s/tokenizer_config.json names no eos_token that the tokenizer knows", options->tokenizer);
    status_quiet(true); /* what a worker finds is counted, not printed */
    enum status status = work_run(&job->rows, &form, &document, options->threads, &job->outcomes);
    status_quiet(false);
    return status != OK ? fail(status, "%s", status_message()) : OK; /* said again, aloud */
}

/* Whether the broken rows are few enough, and anything is left. */
static enum status judge(const struct job *job)
{
    const struct counts *counts = &job->counts;
    int64_t most = job->options.bad_rows >= 0 ? job->options.bad_rows : (int64_t)(job->options.bad_ratio * (double)counts->rows);
    if (counts->broken > most)
        return fail(E_DATA, "%s of %s rows are broken, %s are allowed (--bad-rows): nothing is written", report_number(counts->broken),
                    report_number(counts->rows), report_number(most));
    if (job->learn.documents == 0)
        return fail(E_DATA, "no rows are left to learn from: nothing is written");
    if (job->options.held_files.count > 0 && job->held.documents == 0)
        return fail(E_DATA, "no rows are left in the held-out file: nothing is written");
    return OK;
}

static void name_files(const struct rows *rows, struct pack_header *header)
{
    for (int i = 0; i < rows->files && i < PACK_FILES_MOST; i++)
        snprintf(header->files[i], PACK_NAME_BYTES, "%s", rows->file[i].name);
    if (rows->files > PACK_FILES_MOST)
        snprintf(header->files[PACK_FILES_MOST - 1], PACK_NAME_BYTES, "and %d more", rows->files - PACK_FILES_MOST + 1);
}

static enum status write_pack(const struct job *job, const struct selection *selection, const char *path)
{
    struct filling filling;
    uint32_t *tokens = memory_take(selection->documents * sizeof *tokens);
    for (uint64_t d = 0; d < selection->documents; d++)
        tokens[d] = selection->document[d].tokens;
    fill_rows(&filling, tokens, selection->documents, job->options.sequence_tokens, job->options.order);
    struct pack_header header = { .sequence_tokens = job->options.sequence_tokens,
                                  .vocabulary = (uint32_t)tokenizer_vocabulary(job->tokenizer),
                                  .tokenizer_hash = job->tokenizer_hash,
                                  .template_hash = chat_hash(job->chat) };
    if (chat_name(job->chat) != NULL)
        snprintf(header.template_name, sizeof header.template_name, "%s", chat_name(job->chat));
    name_files(&job->rows, &header);
    enum status status = pack_write(path, &header, selection->document, filling.order, filling.first, filling.rows);
    const struct product product = { path, selection, filling.rows, job->options.sequence_tokens };
    if (status == OK)
        report_product(&product);
    filling_close(&filling);
    free(tokens);
    return status;
}

static enum status show(const struct job *job, const char *path)
{
    struct pack pack;
    TRY(pack_open(&pack, path));
    enum status status = OK;
    if (pack.header->tokenizer_hash != job->tokenizer_hash)
        status = fail(E_DATA, "%s: packed with another tokenizer than %s", path, job->options.tokenizer);
    if (status == OK)
        status = show_rows(stdout, &pack, job->tokenizer, job->options.show_first, job->options.show_rows,
                           isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL);
    pack_close(&pack);
    return status;
}

static enum status pack_all(struct job *job)
{
    const struct options *options = &job->options;
    TRY(chat_open(&job->chat, options->tokenizer, options->template_name, options->template_set.value, options->template_set.count));
    TRY(read_rows(job));
    TRY(outputs_check(options, &job->rows));
    TRY(make_documents(job));
    TRY(select_check(&job->rows, &job->outcomes));
    int64_t shared;
    select_documents(&job->rows, &job->outcomes, options->held_ratio, &job->learn, &job->held, &shared);
    report_count(&job->rows, &job->outcomes, &job->counts);
    report_rows(&job->rows, &job->outcomes, &job->counts);
    fflush(stdout);
    if (shared > 0)
        note("%s rows to learn from say the same as a row of the held-out file", report_number(shared));
    TRY(judge(job));
    printf("template %s, seed %llu\n", chat_name(job->chat) != NULL ? chat_name(job->chat) : "none", (unsigned long long)options->seed);
    TRY(write_pack(job, &job->learn, options->out));
    if (job->held.documents > 0)
        TRY(write_pack(job, &job->held, options->held_path));
    return options->show ? show(job, options->out) : OK;
}

static enum status run(struct job *job, int argc, char **argv)
{
    TRY(options_read(&job->options, argc, argv));
    if (job->options.help) {
        options_help();
        return OK;
    }
    TRY(open_tokenizer(job));
    return job->options.out != NULL ? pack_all(job) : show(job, job->options.file[0]);
}

static void close_job(struct job *job)
{
    selection_close(&job->learn);
    selection_close(&job->held);
    outcomes_close(&job->outcomes);
    rows_close(&job->rows);
    chat_close(job->chat);
    if (job->tokenizer != NULL)
        tokenizer_close(job->tokenizer);
    options_close(&job->options);
}

enum status pack_main(int argc, char **argv)
{
    struct job *job = memory_take(sizeof *job);
    *job = (struct job){ 0 };
    enum status status = run(job, argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == OK)
        status = fail(E_READ, "standard output cannot be written");
    close_job(job);
    free(job);
    return status;
}
