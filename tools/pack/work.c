/* work.c: see work.h. */
#include "tools/pack/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 32 };

struct work {
    const struct rows *rows;
    const struct form_options *form;
    const struct document_options *document;
    struct outcomes *outcomes;
    atomic_int_fast64_t next;
    atomic_int failed; /* the first status that is not OK */
    char message[256]; /* what it said, for the caller's thread */
};

/* Reads a row and makes its documents; false with worker->refusal filled. */
static bool try_row(struct work *work, struct worker *worker, const struct row *row, struct outcome *outcome)
{
    struct examples examples = { 0 };
    if (row->fault != NULL)
        return refuse(&worker->refusal, strcmp(row->fault, ROW_TOO_LONG) == 0 ? BROKEN_LENGTH : BROKEN_FILE, "%s", row->fault);
    const char *data = row_data(work->rows, row);
    bool text = work->rows->file[row->file].form == FILE_TEXT;
    bool good = text ? form_read_text(data, row->bytes, &examples, &worker->refusal)
                     : form_read(work->form, data, row->bytes, &examples, &worker->refusal);
    if (good)
        document_make(worker, &examples, outcome);
    examples_close(&examples);
    return worker->refusal.reason == REASON_NONE;
}

static void make_row(struct work *work, struct worker *worker, int64_t r)
{
    const struct row *row = &work->rows->row[r];
    struct outcome *outcome = &work->outcomes->outcome[r];
    outcome->reason = DROPPED_SHARE;
    if (row->uses == 0)
        return;
    worker->refusal = (struct refusal){ .reason = REASON_NONE };
    if (!try_row(work, worker, row, outcome)) {
        outcome->refusal = memory_take(sizeof *outcome->refusal);
        *outcome->refusal = worker->refusal;
    }
    outcome->reason = worker->refusal.reason;
    for (uint32_t d = 0; d < outcome->documents; d++)
        outcome->document[d].source = (struct pack_source){ .file = row->file, .line = row->number };
}

static void *work_thread(void *argument)
{
    struct work *work = argument;
    struct worker worker;
    enum status status = worker_open(&worker, work->document);
    if (status != OK) {
        int fine = OK;
        if (atomic_compare_exchange_strong(&work->failed, &fine, (int)status))
            snprintf(work->message, sizeof work->message, "%s", status_message());
        return NULL;
    }
    for (;;) {
        int64_t first = atomic_fetch_add(&work->next, BLOCK_ROWS);
        if (first >= work->rows->count || work->failed != OK)
            break;
        for (int64_t r = first; r < first + BLOCK_ROWS && r < work->rows->count; r++)
            make_row(work, &worker, r);
    }
    worker_close(&worker);
    return NULL;
}

enum status work_run(const struct rows *rows, const struct form_options *form, const struct document_options *document, int threads,
                     struct outcomes *outcomes)
{
    struct work work = { .rows = rows, .form = form, .document = document, .outcomes = outcomes };
    pthread_t thread[THREADS_MOST];
    int started = 0;
    ASSERT(threads >= 1 && threads <= THREADS_MOST);
    outcomes->count = rows->count;
    outcomes->outcome = memory_take((size_t)rows->count * sizeof *outcomes->outcome);
    memset(outcomes->outcome, 0, (size_t)rows->count * sizeof *outcomes->outcome);
    while (started < threads && pthread_create(&thread[started], NULL, work_thread, &work) == 0)
        started++;
    for (int t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
    if (started == 0)
        return fail(E_AGAIN, "not one thread can be started");
    return work.failed == OK ? OK : fail((enum status)work.failed, "%s", work.message);
}

void outcomes_close(struct outcomes *outcomes)
{
    for (int64_t r = 0; r < outcomes->count; r++)
        outcome_close(&outcomes->outcome[r]);
    free(outcomes->outcome);
    *outcomes = (struct outcomes){ 0 };
}
