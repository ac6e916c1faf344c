/* rope.c: rotary positions: the table at boot, the rotation in the run (kernels.h). */
#include <math.h>

#include "kernels/kernels.h"

enum { TOKENS_A_TASK = 16 };

/* Llama 3.1: wavelengths beyond original / low are stretched by factor, those below original / high stay, a line in between. */
static double llama3_frequency(const struct rope *rope, double frequency)
{
    double wavelength = 2.0 * M_PI / frequency;
    if (wavelength < rope->original_positions / rope->high_frequency_factor)
        return frequency;
    if (wavelength > rope->original_positions / rope->low_frequency_factor)
        return frequency / rope->factor;
    double smooth = (rope->original_positions / wavelength - rope->low_frequency_factor) /
                    (rope->high_frequency_factor - rope->low_frequency_factor);
    return (1.0 - smooth) * frequency / rope->factor + smooth * frequency;
}

/* YaRN, arXiv:2309.00071, section 3.2: the dimension that turns `turns` times over the original length. */
static double yarn_dimension(const struct rope *rope, double turns, int64_t head_size)
{
    return (double)head_size * log(rope->original_positions / (turns * 2.0 * M_PI)) / (2.0 * log(rope->theta));
}

/* Dimensions below the fast bound stay, those above the slow bound are stretched, a line in between. */
static double yarn_frequency(const struct rope *rope, double frequency, int64_t d, int64_t head_size)
{
    double low = yarn_dimension(rope, rope->beta_fast, head_size), high = yarn_dimension(rope, rope->beta_slow, head_size);
    if (rope->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0.0);
    high = fmin(high, (double)(head_size - 1));
    if (low == high)
        high += 0.001;      /* as transformers does: no division by zero */
    double ramp = fmin(fmax(((double)d - low) / (high - low), 0.0), 1.0);
    return frequency / rope->factor * ramp + frequency * (1.0 - ramp);
}

static double frequency_of(const struct rope *rope, int64_t d, int64_t head_size)
{
    double frequency = pow(rope->theta, -2.0 * (double)d / (double)head_size);
    switch (rope->scaling) {
    case ROPE_NONE:
        break;
    case ROPE_LINEAR:
        return frequency / rope->factor;
    case ROPE_LLAMA3:
        return llama3_frequency(rope, frequency);
    case ROPE_YARN:
        return yarn_frequency(rope, frequency, d, head_size);
    }
    return frequency;
}

void rope_table(float *table, const struct rope *rope, int64_t positions, int64_t head_size)
{
    ASSERT(positions >= 1 && head_size % 2 == 0);
    double attention = 1.0;
    if (rope->scaling == ROPE_YARN)
        attention = rope->attention_factor > 0.0 ? rope->attention_factor : rope->factor > 1.0 ? 0.1 * log(rope->factor) + 1.0 : 1.0;
    for (int64_t d = 0; d < head_size / 2; d++) {
        double frequency = frequency_of(rope, d, head_size);
        for (int64_t p = 0; p < positions; p++) {
            float *pair = table + (p * (head_size / 2) + d) * 2;
            pair[0] = (float)(cos((double)p * frequency) * attention);
            pair[1] = (float)(sin((double)p * frequency) * attention);
        }
    }
}

struct rotation {
    float *qkv;
    const float *table;
    const int32_t *position;
    int64_t tokens, heads, kv_heads, head_size;
    float sign;
};

static void rotate_tokens(void *argument, int64_t index)
{
    const struct rotation *r = argument;
    int64_t end = (index + 1) * TOKENS_A_TASK < r->tokens ? (index + 1) * TOKENS_A_TASK : r->tokens, half = r->head_size / 2;
    for (int64_t n = index * TOKENS_A_TASK; n < end; n++) {
        const float *pair = r->table + (int64_t)r->position[n] * r->head_size;
        for (int64_t h = 0; h < r->heads + r->kv_heads; h++) {
            float *restrict low = r->qkv + (n * (r->heads + 2 * r->kv_heads) + h) * r->head_size, *restrict high = low + half;
            for (int64_t d = 0; d < half; d++) {
                float c = pair[2 * d], s = pair[2 * d + 1] * r->sign, a = low[d], b = high[d];
                low[d] = a * c - b * s;
                high[d] = b * c + a * s;
            }
        }
    }
}

void rope_apply(struct queue *queue, real *qkv, const float *table, const int32_t *position, int64_t tokens, int64_t heads,
                int64_t kv_heads, int64_t head_size, bool backward)
{
    ASSERT(tokens >= 1 && heads >= 1 && kv_heads >= 1 && head_size % 2 == 0);
    int64_t begin = queue_begin(queue);
    struct rotation r = { qkv, table, position, tokens, heads, kv_heads, head_size, backward ? -1.0f : 1.0f };
    team_run(queue->team, (tokens + TOKENS_A_TASK - 1) / TOKENS_A_TASK, rotate_tokens, &r);
    queue_end(queue, TIME_KERNEL, begin);
}
