/* attention_test.c: attention by blocks against the whole matrix in fp64: documents, windows, groups of heads, sizes at and beside the edges of
 * blocks; and to the bit what must not matter. */
#include "test/reference/attention.h"
#include "test/reference/arrays.h"
#include "test/test.h"

/* How a row is cut into documents. */
enum documents { ONE, EVERY_TOKEN, RANDOM, AT_16, AT_64 };

static const struct shape {
    int64_t batch, tokens, heads, kv_heads, head_size, window;
    enum documents documents;
} shapes[] = {
    { 1, 1, 1, 1, 4, 0, ONE },        { 2, 5, 2, 1, 8, 0, RANDOM },      { 1, 16, 1, 1, 16, 0, ONE },     { 2, 17, 4, 2, 8, 0, EVERY_TOKEN },
    { 1, 48, 3, 1, 64, 0, ONE },      { 1, 49, 2, 2, 24, 0, RANDOM },    { 1, 63, 3, 3, 16, 0, ONE },     { 1, 64, 6, 2, 4, 0, RANDOM },
    { 2, 65, 2, 2, 64, 0, ONE },      { 1, 96, 2, 1, 12, 0, AT_16 },     { 1, 97, 8, 1, 16, 0, AT_64 },   { 1, 130, 3, 1, 128, 0, ONE },
    { 3, 200, 9, 3, 16, 0, RANDOM },  { 1, 192, 2, 1, 64, 0, AT_64 },    { 1, 257, 3, 1, 64, 0, RANDOM }, { 1, 40, 1, 1, 5, 0, ONE },
    { 1, 70, 2, 1, 1, 0, RANDOM },    { 1, 130, 2, 1, 8, 1, ONE },       { 1, 130, 2, 1, 8, 2, RANDOM },  { 1, 200, 4, 2, 16, 16, ONE },
    { 1, 200, 4, 2, 8, 63, RANDOM },  { 1, 200, 4, 2, 8, 64, ONE },      { 2, 200, 2, 1, 8, 65, RANDOM }, { 1, 260, 2, 1, 8, 100, AT_64 },
    { 1, 33, 2, 1, 8, 1000, RANDOM },
};

static struct attention attention_of(struct shape s)
{
    return (struct attention){ .batch = s.batch, .tokens = s.tokens, .heads = s.heads, .kv_heads = s.kv_heads, .head_size = s.head_size,
                               .window = s.window, .scale = (float)(1.0 / sqrt((double)s.head_size)) };
}

static int32_t *starts_of(struct shape s, uint64_t *state)
{
    int32_t *start = malloc((size_t)(s.batch * s.tokens) * sizeof *start);
    for (int64_t b = 0; b < s.batch; b++) {
        int32_t first = 0;
        for (int64_t i = 0; i < s.tokens; i++) {
            bool begins = false;
            switch (s.documents) {
            case ONE: break;
            case EVERY_TOKEN: begins = true; break;
            case RANDOM: begins = test_random(state) % 20 == 0 || (i % 30 > 25); break;      /* some documents of one token */
            case AT_16: begins = i % 16 == 0; break;
            case AT_64: begins = i % 64 == 0; break;
            }
            first = begins ? (int32_t)i : first;
            start[b * s.tokens + i] = first;
        }
    }
    return start;
}

struct result {
    float *o, *lse, *dqkv;
    int64_t outs, rows, all;
};

static struct result compute(struct queue *queue, struct attention n, const float *qkv, const float *do_, const int32_t *start)
{
    struct result r = { .outs = n.batch * n.tokens * n.heads * n.head_size, .rows = n.batch * n.heads * n.tokens,
                        .all = n.batch * n.tokens * (n.heads + 2 * n.kv_heads) * n.head_size };
    r.o = array_new(r.outs);
    r.lse = array_new(r.rows);
    r.dqkv = array_new(r.all);
    float *delta = array_new(r.rows);
    attention_forward(queue, r.o, r.lse, qkv, start, n);
    attention_backward(queue, r.dqkv, delta, do_, qkv, r.o, r.lse, start, n);
    array_free(delta);
    return r;
}

static void result_free(struct result r)
{
    array_free(r.o);
    array_free(r.lse);
    array_free(r.dqkv);
}

static void expect_same(const struct result *seen, const struct result *right)
{
    expect_same_bits("o", seen->o, right->o, right->outs);
    expect_same_bits("lse", seen->lse, right->lse, right->rows);
    expect_same_bits("dqkv", seen->dqkv, right->dqkv, right->all);
}

/* Roundings. A score of D terms, each of them and the scale: D + 3 of its size. Its exponential changes by as much, absolutely, and by 2 ulp and the
 * rounding of its difference to the maximum, of at most the size twice. Weights are divided by their sum, which has the same error once more and
 * one rounding a key; running maxima multiply by factors with 6 more a block. So a weight is right to weight_error, relative. */
static double weight_error(struct attention n, const double *score_size, int64_t rows)
{
    double most = 0.0;
    for (int64_t i = 0; i < rows; i++)
        most = fmax(most, score_size[i]);
    double keys = n.window > 0 && n.window < n.tokens ? (double)n.window : (double)n.tokens;
    return (2.0 * ((double)n.head_size + 5.0) * most + 16.0 + keys + 6.0 * (keys / 16.0 + 1.0)) * ROUNDING;
}

static void check_shape(struct shape s, uint64_t *state)
{
    struct attention n = attention_of(s);
    int32_t *start = starts_of(s, state);
    int64_t outs = s.batch * s.tokens * s.heads * s.head_size, rows = s.batch * s.heads * s.tokens;
    int64_t all = s.batch * s.tokens * (s.heads + 2 * s.kv_heads) * s.head_size;
    float *qkv = array_random(all, state), *do_ = array_random(outs, state);
    for (int64_t i = 0; i < all; i++)
        qkv[i] *= 3.0f;                 /* weights far from equal */
    struct result r = compute(queue_of(1), n, qkv, do_, start);

    double *wide = wide_of(qkv, all), *wide_do = wide_of(do_, outs), *o = wide_new(outs), *o_size = wide_new(outs), *lse = wide_new(rows);
    double *score_size = wide_new(rows), *dqkv = wide_new(all), *dqkv_size = wide_new(all);
    reference_attention_forward(o, o_size, lse, score_size, wide, start, n);
    reference_attention_backward(dqkv, dqkv_size, wide_do, wide, start, n);
    double error = weight_error(n, score_size, rows);
    expect_near("o", r.o, o, o_size, error, outs);
    for (int64_t i = 0; i < rows; i++)
        EXPECT_NEAR(r.lse[i], lse[i], error + 2.0 * fabs(lse[i]) * ROUNDING);
    /* The score's gradient holds the weight, dO . V with D + 1 roundings, and dO . O with D + 1 and the error of O; sums over keys, or over queries
     * of all heads of the group, round once a term, and the scale is one more. */
    double terms = (double)(s.tokens * (s.heads / s.kv_heads) + s.head_size + 4);
    expect_near("dqkv", r.dqkv, dqkv, dqkv_size, 2.0 * error + terms * ROUNDING, all);

    for (int t = 1; t < TEAMS; t++) {
        struct result other = compute(queue_of(team_sizes[t]), n, qkv, do_, start);
        expect_same(&other, &r);
        result_free(other);
    }
    result_free(r);
    double *wides[] = { wide, wide_do, o, o_size, lse, score_size, dqkv, dqkv_size };
    for (int i = 0; i < ELEMENTS_OF(wides); i++)
        free(wides[i]);
    array_free(qkv);
    array_free(do_);
    free(start);
}

TEST(blocks_equal_the_whole_matrix_on_any_team)
{
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(shapes); i++) {
        check_shape(shapes[i], &state);
        test_stop_if_failed();
    }
}

/* Everything of tokens [from, to) of row 0 in [.., tokens, width], the rest NaN: to compare parts. */
static void expect_same_tokens(const char *what, const float *seen, const float *right, int64_t from, int64_t to, int64_t width)
{
    expect_same_bits(what, seen + from * width, right + from * width, (to - from) * width);
}

TEST(a_document_does_not_change_a_bit_of_another)
{
    static const int64_t cuts[] = { 1, 16, 50, 64, 100, 139 };
    struct shape s = { 1, 140, 4, 2, 16, 0, ONE };
    struct attention n = attention_of(s);
    int64_t width = (s.heads + 2 * s.kv_heads) * s.head_size, out = s.heads * s.head_size;
    uint64_t state = test_seed();
    for (int i = 0; i < ELEMENTS_OF(cuts); i++) {
        int32_t start[140];
        for (int t = 0; t < 140; t++)
            start[t] = t < cuts[i] ? 0 : (int32_t)cuts[i];
        float *qkv = array_random(s.tokens * width, &state), *do_ = array_random(s.tokens * out, &state);
        struct result before = compute(queue_of(1), n, qkv, do_, start);
        for (int side = 0; side < 2; side++) {
            int64_t from = side == 0 ? 0 : cuts[i], to = side == 0 ? cuts[i] : s.tokens;         /* the document that changes */
            int64_t kept_from = side == 0 ? cuts[i] : 0, kept_to = side == 0 ? s.tokens : cuts[i];
            float *qkv2 = array_copy(qkv, s.tokens * width), *do2 = array_copy(do_, s.tokens * out);
            for (int64_t j = from * width; j < to * width; j++)
                qkv2[j] = 50.0f * test_uniform(&state);
            for (int64_t j = from * out; j < to * out; j++)
                do2[j] = 50.0f * test_uniform(&state);
            struct result after = compute(queue_of(1), n, qkv2, do2, start);
            expect_same_tokens("o", after.o, before.o, kept_from, kept_to, out);
            expect_same_tokens("dqkv", after.dqkv, before.dqkv, kept_from, kept_to, width);
            for (int64_t h = 0; h < s.heads; h++)
                expect_same_tokens("lse", after.lse + h * s.tokens, before.lse + h * s.tokens, kept_from, kept_to, 1);
            result_free(after);
            array_free(qkv2);
            array_free(do2);
        }
        result_free(before);
        array_free(qkv);
        array_free(do_);
        test_stop_if_failed();
    }
}

/* The cuts between earlier documents neither: with them move the keys that a later query's neighbours see, and so the work of its block. */
TEST(cuts_between_earlier_documents_do_not_change_a_bit)
{
    struct shape s = { 1, 200, 2, 1, 16, 0, ONE };
    struct attention n = attention_of(s);
    int64_t width = (s.heads + 2 * s.kv_heads) * s.head_size, out = s.heads * s.head_size, kept = 100;
    uint64_t state = test_seed();
    float *qkv = array_random(s.tokens * width, &state), *do_ = array_random(s.tokens * out, &state);
    struct result first = { 0 };
    for (int32_t cut = 0; cut < kept; cut += 9) {
        int32_t start[200];
        for (int32_t t = 0; t < s.tokens; t++)
            start[t] = t < cut ? 0 : t < kept ? cut : (int32_t)kept;
        struct result r = compute(queue_of(1), n, qkv, do_, start);
        if (cut == 0) {
            first = r;
            continue;
        }
        expect_same_tokens("o", r.o, first.o, kept, s.tokens, out);
        expect_same_tokens("dqkv", r.dqkv, first.dqkv, kept, s.tokens, width);
        result_free(r);
    }
    result_free(first);
    array_free(qkv);
    array_free(do_);
}

TEST(a_later_token_does_not_change_a_bit_of_an_earlier_output)
{
    struct shape s = { 1, 131, 2, 1, 8, 0, ONE };
    struct attention n = attention_of(s);
    int64_t width = (s.heads + 2 * s.kv_heads) * s.head_size, out = s.heads * s.head_size;
    uint64_t state = test_seed();
    int32_t start[131] = { 0 };
    float *qkv = array_random(s.tokens * width, &state), *do_ = array_random(s.tokens * out, &state);
    struct result before = compute(queue_of(1), n, qkv, do_, start);
    for (int64_t t = s.tokens - 1; t > 0; t -= 7) {
        for (int64_t j = t * width; j < s.tokens * width; j++)
            qkv[j] = 50.0f * test_uniform(&state);
        struct result after = compute(queue_of(1), n, qkv, do_, start);
        expect_same_tokens("o", after.o, before.o, 0, t, out);
        result_free(after);
    }
    result_free(before);
    array_free(qkv);
    array_free(do_);
}

/* What a query, a key, a value gets depends on its own row and heads alone: row 1 of a batch of two equals the row by itself, and a group of
 * heads equals the group by itself. */
TEST(rows_and_groups_do_not_depend_on_their_neighbours)
{
    struct shape s = { 2, 90, 4, 2, 8, 0, RANDOM };
    struct attention n = attention_of(s), one = n;
    int64_t d = s.head_size, width = (s.heads + 2 * s.kv_heads) * d, out = s.heads * d, group = s.heads / s.kv_heads;
    uint64_t state = test_seed();
    int32_t *start = starts_of(s, &state);
    float *qkv = array_random(2 * s.tokens * width, &state), *do_ = array_random(2 * s.tokens * out, &state);
    struct result both = compute(queue_of(1), n, qkv, do_, start);
    one.batch = 1;
    struct result second = compute(queue_of(1), one, qkv + s.tokens * width, do_ + s.tokens * out, start + s.tokens);
    expect_same_bits("o", second.o, both.o + s.tokens * out, s.tokens * out);
    expect_same_bits("dqkv", second.dqkv, both.dqkv + s.tokens * width, s.tokens * width);

    /* Group 1 of row 1: heads 2 and 3, key-value head 1. */
    one.heads = group;
    one.kv_heads = 1;
    int64_t part = (group + 2) * d;
    float *part_qkv = array_new(s.tokens * part), *part_do = array_new(s.tokens * group * d);
    for (int64_t t = 0; t < s.tokens; t++) {
        const float *from = qkv + (s.tokens + t) * width;
        memcpy(part_qkv + t * part, from + group * d, (size_t)(group * d) * sizeof *from);
        memcpy(part_qkv + t * part + group * d, from + (s.heads + 1) * d, (size_t)d * sizeof *from);
        memcpy(part_qkv + t * part + (group + 1) * d, from + (s.heads + s.kv_heads + 1) * d, (size_t)d * sizeof *from);
        memcpy(part_do + t * group * d, do_ + (s.tokens + t) * out + group * d, (size_t)(group * d) * sizeof *from);
    }
    struct result alone = compute(queue_of(1), one, part_qkv, part_do, start + s.tokens);
    for (int64_t t = 0; t < s.tokens; t++) {
        expect_same_bits("o", alone.o + t * group * d, second.o + t * out + group * d, group * d);
        expect_same_bits("dq", alone.dqkv + t * part, second.dqkv + t * width + group * d, group * d);
        expect_same_bits("dk", alone.dqkv + t * part + group * d, second.dqkv + t * width + (s.heads + 1) * d, d);
        expect_same_bits("dv", alone.dqkv + t * part + (group + 1) * d, second.dqkv + t * width + (s.heads + s.kv_heads + 1) * d, d);
    }
    result_free(both);
    result_free(second);
    result_free(alone);
    float *arrays[] = { qkv, do_, part_qkv, part_do };
    for (int i = 0; i < ELEMENTS_OF(arrays); i++)
        array_free(arrays[i]);
    free(start);
}

/* A query that sees one key has weight 1 for it, whatever the score. */
TEST(large_scores_neither_overflow_nor_vanish)
{
    struct shape s = { 1, 70, 1, 1, 4, 0, ONE };
    struct attention n = attention_of(s);
    uint64_t state = test_seed();
    int32_t start[70] = { 0 };
    float *qkv = array_random(s.tokens * 12, &state), *do_ = array_random(s.tokens * 4, &state);
    for (int64_t i = 0; i < s.tokens * 12; i++)
        if (i % 12 < 8)
            qkv[i] *= 1000.0f;          /* scores of a million */
    struct result r = compute(queue_of(1), n, qkv, do_, start);
    for (int64_t i = 0; i < r.outs; i++)
        EXPECT(fabsf(r.o[i]) <= 1.0f + 1e-5f);
    for (int64_t i = 0; i < r.all; i++)
        EXPECT(isfinite(r.dqkv[i]));
    result_free(r);
    array_free(qkv);
    array_free(do_);
}

enum { SLOPE_TOKENS = 6, SLOPE_ALL = SLOPE_TOKENS * 4 * 3, SLOPE_OUTS = SLOPE_TOKENS * 2 * 3 };
static struct {
    double qkv[SLOPE_ALL], do_[SLOPE_OUTS];
    int32_t start[SLOPE_TOKENS];
    struct attention n;
} slope;

static double objective(void *context)
{
    (void)context;
    double o[SLOPE_OUTS], size[SLOPE_OUTS], lse[2 * SLOPE_TOKENS], score_size[2 * SLOPE_TOKENS];
    reference_attention_forward(o, size, lse, score_size, slope.qkv, slope.start, slope.n);
    return weighted_sum(slope.do_, o, SLOPE_OUTS);
}

TEST(gradients_are_slopes)
{
    uint64_t state = test_seed();
    for (int window = 0; window < 3; window++) {
        double gradient[SLOPE_ALL], size[SLOPE_ALL];
        slope.n = attention_of((struct shape){ 1, SLOPE_TOKENS, 2, 1, 3, window, ONE });
        for (int i = 0; i < SLOPE_TOKENS; i++)
            slope.start[i] = i < 4 ? 0 : 4;
        for (int i = 0; i < SLOPE_ALL; i++)
            slope.qkv[i] = 2.0 * (double)test_uniform(&state);
        for (int i = 0; i < SLOPE_OUTS; i++)
            slope.do_[i] = (double)test_uniform(&state);
        reference_attention_backward(gradient, size, slope.do_, slope.qkv, slope.start, slope.n);
        expect_slope("qkv", objective, NULL, slope.qkv, gradient, SLOPE_ALL);
    }
}
