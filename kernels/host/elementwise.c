/* elementwise.c: additions, copies and zeros (kernels.h). Steady. */
#include <string.h>

#include "kernels/kernels.h"

enum { ELEMENTS_A_TASK = 1 << 16 };

struct span {
    float *x;
    const float *y;
    int64_t elements;
};

static void add_part(void *argument, int64_t index)
{
    const struct span *s = argument;
    int64_t begin = index * ELEMENTS_A_TASK, end = begin + ELEMENTS_A_TASK < s->elements ? begin + ELEMENTS_A_TASK : s->elements;
    float *restrict x = s->x;
    const float *restrict y = s->y;
    for (int64_t i = begin; i < end; i++)
        x[i] += y[i];
}

void add(struct queue *queue, real *x, const real *y, int64_t elements)
{
    int64_t begin = queue_begin(queue);
    struct span span = { x, y, elements };
    team_run(queue->team, (elements + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK, add_part, &span);
    queue_end(queue, TIME_KERNEL, begin);
}

static void copy_part(void *argument, int64_t index)
{
    const struct span *s = argument;
    int64_t begin = index * ELEMENTS_A_TASK, end = begin + ELEMENTS_A_TASK < s->elements ? begin + ELEMENTS_A_TASK : s->elements;
    memcpy(s->x + begin, s->y + begin, (size_t)(end - begin) * sizeof *s->x);
}

void copy_elements(struct queue *queue, real *x, const real *y, int64_t elements)
{
    int64_t begin = queue_begin(queue);
    struct span span = { x, y, elements };
    team_run(queue->team, (elements + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK, copy_part, &span);
    queue_end(queue, TIME_KERNEL, begin);
}

static void zero_part(void *argument, int64_t index)
{
    const struct span *s = argument;
    int64_t begin = index * ELEMENTS_A_TASK, end = begin + ELEMENTS_A_TASK < s->elements ? begin + ELEMENTS_A_TASK : s->elements;
    memset((uint8_t *)s->x + begin, 0, (size_t)(end - begin));
}

void fill_zero(struct queue *queue, void *x, int64_t bytes)
{
    int64_t begin = queue_begin(queue);
    struct span span = { x, NULL, bytes };
    team_run(queue->team, (bytes + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK, zero_part, &span);
    queue_end(queue, TIME_KERNEL, begin);
}
