/* adamw.c: the update of parameters by gradient and moments (kernels.h). Steady. */
#include <math.h>

#include "kernels/kernels.h"

enum { ELEMENTS_A_TASK = 1 << 14 };

struct update {
    float *w, *m, *v;
    const float *g;
    int64_t elements;
    struct adamw a;
};

static void update_part(void *argument, int64_t index)
{
    const struct update *u = argument;
    int64_t begin = index * ELEMENTS_A_TASK, end = begin + ELEMENTS_A_TASK < u->elements ? begin + ELEMENTS_A_TASK : u->elements;
    const struct adamw a = u->a;
    float *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    const float *restrict g = u->g;
    float keep = 1.0f - a.learning_rate * a.weight_decay, step = a.learning_rate / a.correction1, root = 1.0f / sqrtf(a.correction2);
    for (int64_t i = begin; i < end; i++) {
        float gradient = g[i] * a.gradient_scale;
        m[i] += (1.0f - a.beta1) * (gradient - m[i]);
        v[i] = a.beta2 * v[i] + (1.0f - a.beta2) * gradient * gradient;
        w[i] = w[i] * keep - step * m[i] / (sqrtf(v[i]) * root + a.epsilon);
    }
}

void adamw_update(struct queue *queue, float *w, float *m, float *v, const float *g, int64_t elements, struct adamw a)
{
    ASSERT(elements >= 1 && a.correction1 > 0.0f && a.correction2 > 0.0f);
    int64_t begin = queue_begin(queue);
    struct update u = { w, m, v, g, elements, a };
    team_run(queue->team, (elements + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK, update_part, &u);
    queue_end(queue, TIME_KERNEL, begin);
}
