/* rope_test.c: the tables of each scaling against numbers worked out by transformers' formulas, and the rotation against complex numbers. */
#include "test/reference/rope.h"
#include "test/reference/arrays.h"
#include "test/test.h"

/* Inverse frequencies by the formulas of transformers' modeling_rope_utils.py, computed by themselves in Python's fp64. */
static const struct known {
    struct rope rope;
    int64_t head_size;
    double factor;          /* of the table: the attention factor */
    double frequency[8];
} known[] = {
    { { .theta = 1e4, .scaling = ROPE_NONE }, 8, 1.0, { 1, 0.1, 0.01, 0.001 } },
    { { .theta = 1e4, .scaling = ROPE_LINEAR, .factor = 4 }, 8, 1.0, { 0.25, 0.025, 0.0025, 0.00025 } },
    { { .theta = 5e5, .scaling = ROPE_LLAMA3, .factor = 8, .low_frequency_factor = 1, .high_frequency_factor = 4, .original_positions = 8192 }, 16, 1.0,
      { 1, 0.19392274474868576, 0.037606030930863933, 0.0072926647372171093, 0.00052484616099295468, 3.4281021959525912e-05,
        6.6478698711812354e-06, 1.2891731721515574e-06 } },
    { { .theta = 1e4, .scaling = ROPE_LLAMA3, .factor = 8, .low_frequency_factor = 1, .high_frequency_factor = 4, .original_positions = 64 }, 8, 1.0,
      { 1, 0.013042256043820465, 0.00125, 0.000125 } },
    { { .theta = 1e6, .scaling = ROPE_YARN, .factor = 4, .original_positions = 32768, .beta_fast = 32, .beta_slow = 1, .truncate = true }, 16,
      1.1386294361119891,   /* 0.1 ln 4 + 1 */
      { 1, 0.17782794100389229, 0.031622776601683791, 0.004217559938927618, 0.0005, 4.4456985250973067e-05, 7.9056941504209488e-06,
        1.4058533129758728e-06 } },
    { { .theta = 1e6, .scaling = ROPE_YARN, .factor = 4, .original_positions = 32768, .beta_fast = 32, .beta_slow = 1, .attention_factor = 1.5 }, 16, 1.5,
      { 1, 0.17782794100389229, 0.031622776601683791, 0.0055172704751341225, 0.00060740793787983913, 4.4456985250973067e-05,
        7.9056941504209488e-06, 1.4058533129758728e-06 } },
    /* Both bounds at 0 after rounding and cutting: no division by zero. */
    { { .theta = 1e4, .scaling = ROPE_YARN, .factor = 4, .original_positions = 4, .beta_fast = 32, .beta_slow = 1, .truncate = true }, 8,
      1.1386294361119891, { 1, 0.025, 0.0025, 0.00025 } },
    /* A factor of at most 1 leaves the size as it is. */
    { { .theta = 1e4, .scaling = ROPE_YARN, .factor = 0.5, .original_positions = 64, .beta_fast = 32, .beta_slow = 1, .truncate = true }, 8, 1.0,
      { 1, 0.15, 0.02, 0.002 } },
};
enum { POSITIONS = 700 };

/* A position times a frequency known to 17 digits is off by position * 1e-16 at most; the result is rounded once. */
TEST(tables_are_those_of_transformers)
{
    for (int i = 0; i < ELEMENTS_OF(known); i++) {
        const struct known *k = &known[i];
        int64_t half = k->head_size / 2;
        float *table = array_new(POSITIONS * half * 2);
        rope_table(table, &k->rope, POSITIONS, k->head_size);
        for (int64_t p = 0; p < POSITIONS; p++)
            for (int64_t d = 0; d < half; d++) {
                double angle = (double)p * k->frequency[d], tolerance = k->factor * (ROUNDING + 1e-12);
                EXPECT_NEAR(table[(p * half + d) * 2], k->factor * cos(angle), tolerance);
                EXPECT_NEAR(table[(p * half + d) * 2 + 1], k->factor * sin(angle), tolerance);
            }
        array_free(table);
        test_stop_if_failed();
    }
}

static const struct shape {
    int64_t tokens, heads, kv_heads, head_size;
} shapes[] = { { 1, 1, 1, 2 }, { 3, 2, 1, 4 }, { 17, 8, 2, 8 }, { 33, 3, 3, 16 }, { 18, 9, 3, 64 }, { 5, 4, 2, 128 }, { 9, 2, 2, 24 }, { 7, 3, 1, 6 } };

TEST(rotation_equals_complex_numbers_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        struct shape s = shapes[i];
        int64_t row = (s.heads + 2 * s.kv_heads) * s.head_size, half = s.head_size / 2;
        struct rope rope = { .theta = 1e4, .scaling = ROPE_NONE };
        float *table = array_new(POSITIONS * half * 2), *qkv = array_random(s.tokens * row, &state);
        double frequency[64];
        int32_t position[64];
        for (int64_t d = 0; d < half; d++)
            frequency[d] = pow(1e4, -2.0 * (double)d / (double)s.head_size);
        for (int64_t n = 0; n < s.tokens; n++)
            position[n] = (int32_t)(test_random(&state) % POSITIONS);
        rope_table(table, &rope, POSITIONS, s.head_size);
        for (int backward = 0; backward < 2; backward++) {
            double *right = wide_of(qkv, s.tokens * row);
            reference_rope_apply(right, frequency, 1.0, position, s.tokens, s.heads + s.kv_heads, s.kv_heads, s.head_size, backward ? -1.0 : 1.0);
            float *first = NULL;
            for (int t = 0; t < TEAMS; t++) {
                float *x = array_copy(qkv, s.tokens * row);
                rope_apply(queue_of(team_sizes[t]), x, table, position, s.tokens, s.heads, s.kv_heads, s.head_size, backward);
                /* Two products of numbers below 1, each with a rounded factor, and their sum: 5 roundings. */
                expect_near("qkv", x, right, NULL, 5.0 * ROUNDING, s.tokens * row);
                for (int64_t n = 0; n < s.tokens; n++)
                    expect_same_bits("values", x + (n + 1) * row - s.kv_heads * s.head_size, qkv + (n + 1) * row - s.kv_heads * s.head_size,
                                     s.kv_heads * s.head_size);
                if (first != NULL) {
                    expect_same_bits("qkv", x, first, s.tokens * row);
                    array_free(x);
                } else {
                    first = x;
                }
            }
            array_free(first);
            free(right);
        }
        array_free(table);
        array_free(qkv);
        test_stop_if_failed();
    }
}

/* The gradient of a rotation is the rotation back: <dy, R x> = <R' dy, x>. */
TEST(backward_is_the_adjoint_of_forward)
{
    enum { TOKENS = 11, HEADS = 3, KV = 1, SIZE = 16, N = TOKENS * (HEADS + 2 * KV) * SIZE };
    uint64_t state = test_seed();
    struct rope rope = { .theta = 1e6, .scaling = ROPE_YARN, .factor = 4, .original_positions = 64, .beta_fast = 32, .beta_slow = 1, .truncate = true };
    float *table = array_new(64 * SIZE), *x = array_random(N, &state), *dy = array_random(N, &state);
    double *wide_x = wide_of(x, N), *wide_dy = wide_of(dy, N);
    int32_t position[TOKENS];
    for (int n = 0; n < TOKENS; n++)
        position[n] = 5 * n;
    rope_table(table, &rope, 64, SIZE);
    rope_apply(queue_of(1), x, table, position, TOKENS, HEADS, KV, SIZE, false);
    rope_apply(queue_of(1), dy, table, position, TOKENS, HEADS, KV, SIZE, true);
    double forward = 0.0, backward = 0.0;
    for (int i = 0; i < N; i++) {
        forward += wide_dy[i] * (double)x[i];
        backward += (double)dy[i] * wide_x[i];
    }
    EXPECT_NEAR(forward, backward, N * 10.0 * ROUNDING);
    array_free(table);
    array_free(x);
    array_free(dy);
    free(wide_x);
    free(wide_dy);
}
