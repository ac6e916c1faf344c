/* embedding.c: rows of a table by token, and their gradient (kernels.h). Steady. */
#include <string.h>

#include "kernels/kernels.h"

enum { TOKENS_A_TASK = 64, COLUMNS_A_TASK = 64 };

struct lookup {
    float *to;
    const float *from;
    const int32_t *token;
    int64_t first, rows, tokens, hidden;
};

static void copy_rows(void *argument, int64_t index)
{
    const struct lookup *l = argument;
    int64_t begin = index * TOKENS_A_TASK, end = begin + TOKENS_A_TASK < l->tokens ? begin + TOKENS_A_TASK : l->tokens;
    for (int64_t n = begin; n < end; n++) {
        int64_t row = l->token[n] - l->first;
        if (row >= 0 && row < l->rows)
            memcpy(l->to + n * l->hidden, l->from + row * l->hidden, (size_t)l->hidden * sizeof *l->to);
        else
            memset(l->to + n * l->hidden, 0, (size_t)l->hidden * sizeof *l->to);
    }
}

void embedding_forward(struct queue *queue, real *y, const real *table, const int32_t *token, int64_t first, int64_t rows, int64_t tokens,
                       int64_t hidden)
{
    ASSERT(rows >= 1 && tokens >= 1 && hidden >= 1);
    int64_t begin = queue_begin(queue);
    struct lookup lookup = { y, table, token, first, rows, tokens, hidden };
    team_run(queue->team, (tokens + TOKENS_A_TASK - 1) / TOKENS_A_TASK, copy_rows, &lookup);
    queue_end(queue, TIME_KERNEL, begin);
}

/* A task owns columns, not tokens: two tokens may share a row, and their order must hold. */
static void add_columns(void *argument, int64_t index)
{
    const struct lookup *l = argument;
    int64_t begin = index * COLUMNS_A_TASK, end = begin + COLUMNS_A_TASK < l->hidden ? begin + COLUMNS_A_TASK : l->hidden;
    for (int64_t n = 0; n < l->tokens; n++) {
        int64_t row = l->token[n] - l->first;
        if (row < 0 || row >= l->rows)
            continue;
        float *restrict to = l->to + row * l->hidden;
        const float *restrict from = l->from + n * l->hidden;
        for (int64_t c = begin; c < end; c++)
            to[c] += from[c];
    }
}

void embedding_backward(struct queue *queue, float *dtable, const real *dy, const int32_t *token, int64_t first, int64_t rows,
                        int64_t tokens, int64_t hidden)
{
    ASSERT(rows >= 1 && tokens >= 1 && hidden >= 1);
    int64_t begin = queue_begin(queue);
    struct lookup lookup = { dtable, dy, token, first, rows, tokens, hidden };
    team_run(queue->team, (hidden + COLUMNS_A_TASK - 1) / COLUMNS_A_TASK, add_columns, &lookup);
    queue_end(queue, TIME_KERNEL, begin);
}
