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

/* The factors are computed in fp64 and rounded once: 1 - beta2 from an fp32 beta2 of 0.999 would be wrong by 1e-5. */
static void update_part(void *argument, int64_t index)
{
    const struct update *u = argument;
    int64_t begin = index * ELEMENTS_A_TASK, end = begin + ELEMENTS_A_TASK < u->elements ? begin + ELEMENTS_A_TASK : u->elements;
    float *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    const float *restrict g = u->g;
    float scale = (float)u->a.gradient_scale, keep = (float)(1.0 - u->a.learning_rate * u->a.weight_decay);
    float new1 = (float)(1.0 - u->a.beta1), old2 = (float)u->a.beta2, new2 = (float)(1.0 - u->a.beta2);
    float step = (float)(u->a.learning_rate / u->a.correction1), root = (float)(1.0 / sqrt(u->a.correction2)), epsilon = (float)u->a.epsilon;
    for (int64_t i = begin; i < end; i++) {
        float gradient = g[i] * scale;
        m[i] += new1 * (gradient - m[i]);
        v[i] = old2 * v[i] + new2 * gradient * gradient;
        w[i] = w[i] * keep - step * m[i] / (sqrtf(v[i]) * root + epsilon);
    }
}

void adamw_update(struct queue *queue, float *w, float *m, float *v, const float *g, int64_t elements, struct adamw a)
{
    ASSERT(elements >= 1 && a.correction1 > 0.0 && a.correction2 > 0.0);
    int64_t begin = queue_begin(queue);
    struct update u = { w, m, v, g, elements, a };
    team_run(queue->team, (elements + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK, update_part, &u);
    queue_end(queue, TIME_KERNEL, begin);
}
