/* layoutc_test.c: what layoutc derives, against figures that were worked out by other means, and what it refuses. */
#include "test/tables/samples.h"
#include "tools/layoutc/chunks.h"
#include "tools/layoutc/emit.h"
#include "tools/layoutc/groups.h"
#include "tools/layoutc/order.h"
#include "tools/layoutc/report.h"

/* tiny-llama at 256 tokens a row, as the shipped layouts cut it. */
static struct input tiny(int tp, int pp, int dp)
{
    struct input in = *sample(0);
    in.board.devices_per_node = in.board.link_group_devices = (int64_t)tp * pp * dp;
    in.layout.tp = tp;
    in.layout.pp = pp;
    in.layout.dp = dp;
    in.layout.micro_batches = 8 / dp;
    in.layout.micro_batch_rows = 1;
    in.layout.sequence_tokens = 256;
    return in;
}

/* ---- ranks and stages ---- */

TEST(tp_varies_fastest_then_cp_dp_pp)
{
    struct input in = tiny(2, 2, 2);
    struct draft draft;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    const struct rank_row *row = &draft.row[5];
    EXPECT(row->pp == 1 && row->dp == 0 && row->cp == 0 && row->tp == 1);
    EXPECT_EQ(rank_at(&in.layout, (struct place){ .pp = 1, .dp = 1, .tp = 0 }), 6);
    EXPECT_EQ(draft.group[row->group[GROUP_TP]].members[0], 4);
    EXPECT_EQ(draft.group[row->group[GROUP_DP]].members[1], 7);
    EXPECT_EQ(draft.channel[row->channel[0][CHANNEL_FORWARD_IN]].from, 1);
    EXPECT_EQ(row->channel[0][CHANNEL_FORWARD_OUT], NONE);
    draft_free(&draft);
}

TEST(copies_of_kv_heads_are_neighbours)
{ /* 8 ranks, 2 KV heads: ranks 0 to 3 hold the first. */
    struct input in = tiny(8, 1, 1);
    struct draft draft;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    const struct comm_group *group = &draft.group[draft.row[6].group[GROUP_KV_COPIES]];
    EXPECT_EQ(group->size, 4);
    EXPECT_EQ(group->members[0], 4);
    EXPECT_EQ(group->members[3], 7);
    draft_free(&draft);
}

TEST(layers_are_dealt_so_that_the_slowest_stage_is_as_fast_as_can_be)
{
    static const struct {
        int layers, pp, head_layers; /* what the head costs, in layers; 0: less than a tenth of one */
        int right[8];
    } cases[] = {
        { 9, 1, 0, { 9 } },
        { 9, 2, 0, { 5, 4 } },
        { 9, 4, 0, { 2, 2, 3, 2 } },
        { 9, 8, 0, { 1, 1, 1, 1, 1, 1, 2, 1 } },
        { 30, 4, 0, { 7, 8, 8, 7 } },
        { 11, 4, 0, { 3, 3, 3, 2 } },
        { 15, 8, 0, { 2, 2, 2, 2, 2, 2, 2, 1 } },
        { 8, 8, 0, { 1, 1, 1, 1, 1, 1, 1, 1 } },
        { 12, 2, 2, { 7, 5 } },
        { 13, 4, 3, { 4, 4, 4, 1 } },
        { 30, 2, 9, { 19, 11 } },
        { 8, 4, 7, { 2, 2, 3, 1 } },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct input in = tiny(1, cases[i].pp, 1);
        struct share share = share_of(&in);
        struct draft draft;
        in.model.layers = cases[i].layers;
        struct pass_cost cost = pass_cost_of(&in, &share);
        in.model.vocabulary = cases[i].head_layers == 0 ? 128 : (int64_t)(cases[i].head_layers * cost.layer / cost.head * (double)in.model.vocabulary);
        EXPECT_EQ(draft_make(&draft, &in), OK);
        for (int s = 0; s < cases[i].pp; s++)
            if (draft.stage[s].layers != cases[i].right[s])
                test_fail(__FILE__, __LINE__, "%d layers on %d stages, a head of %d: stage %d has %d, right is %d", cases[i].layers, cases[i].pp,
                          cases[i].head_layers, s, (int)draft.stage[s].layers, cases[i].right[s]);
        draft_free(&draft);
    }
}

/* "0-2 6-7": the layers of a stage's chunks. */
static const char *chunks_text(char text[64], const struct stage *stage)
{
    text[0] = '\0';
    for (int32_t c = 0; c < stage->chunks; c++)
        sprintf(text + strlen(text), "%s%d-%d", c == 0 ? "" : " ", (int)stage->chunk[c].first_layer,
                (int)(stage->chunk[c].first_layer + stage->chunk[c].layers - 1));
    return text;
}

TEST(chunks_lie_over_and_over_or_there_and_back)
{
    static const int32_t layers[] = { 1, 2, 3, 3 };
    struct input in = tiny(1, 2, 1);
    struct draft draft;
    char text[64];
    in.layout.stage_layers = layers;
    in.layout.stage_layers_count = 4;
    in.layout.chunks = 2;
    in.layout.schedule = ORDER_INTERLEAVED;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_TEXT(chunks_text(text, &draft.stage[0]), "0-0 3-5");
    EXPECT_TEXT(chunks_text(text, &draft.stage[1]), "1-2 6-8");
    EXPECT(draft.stage[0].embeds && draft.stage[1].heads && !draft.stage[0].heads);
    EXPECT_EQ(draft.channels, 6);
    draft_free(&draft);
    in.layout.schedule = ORDER_ZB_V;
    in.layout.folded = true;
    in.layout.folded_value = 1;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_TEXT(chunks_text(text, &draft.stage[0]), "0-0 6-8");
    EXPECT_TEXT(chunks_text(text, &draft.stage[1]), "1-2 3-5");
    EXPECT(draft.stage[0].embeds && draft.stage[0].heads && !draft.stage[1].heads);
    EXPECT_EQ(draft.channels, 4);
    draft_free(&draft);
}

TEST(layers_by_hand_are_taken)
{
    static const int32_t layers[] = { 2, 7 };
    struct input in = tiny(1, 2, 1);
    struct draft draft;
    in.layout.stage_layers = layers;
    in.layout.stage_layers_count = 2;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_EQ(draft.stage[1].chunk[0].first_layer, 2);
    EXPECT_EQ(draft.stage[1].layers, 7);
    draft_free(&draft);
}

/* ---- schedules ---- */

TEST(cells_of_chunks_come_in_the_order_of_the_papers)
{ /* Narayanan et al. 2021, figure 4 (bottom), with 4 stages and 8 micro-batches, light and dark as chunk 0 and 1; Qi et al. 2024, figure 3. */
    static const struct {
        enum schedule schedule;
        int pp, stage, micro_batches;
        const char *right;
    } cases[] = {
        { ORDER_INTERLEAVED, 4, 3, 8,
          "0F0 0F1 0F2 0F3 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 0F4 0B0 0F5 0B1 0F6 0B2 0F7 0B3 1F4 1B4 1F5 1B5 1F6 1B6 1F7 1B7 0B4 0B5 0B6 0B7 " },
        { ORDER_INTERLEAVED, 2, 0, 2, "0F0 0F1 1F0 1F1 1B0 1B1 0B0 0B1 " },
        { ORDER_INTERLEAVED, 2, 1, 3, "0F0 0F1 1F0 1B0 1F1 1B1 0F2 0B0 0B1 1F2 1B2 0B2 " },
        { ORDER_ZB_V, 2, 0, 3, "0F0 0F1 0F2 1F0 1I0 1W0 1F1 1I1 1W1 0I0 0W0 1F2 1I2 1W2 0I1 0W1 0I2 0W2 " },
        { ORDER_ZB_V, 2, 1, 3, "0F0 1F0 0F1 1F1 1I0 1W0 0F2 0I0 0W0 1F2 1I1 1W1 0I1 1I2 0I2 0W1 1W2 0W2 " },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct layout_input layout = { .pp = cases[i].pp, .chunks = 2, .schedule = cases[i].schedule, .micro_batches = cases[i].micro_batches };
        struct cell cell[64];
        char text[512] = "";
        int64_t cells = order_cells(cell, &layout, cases[i].stage);
        for (int64_t c = 0; c < cells; c++)
            sprintf(text + strlen(text), "%d%c%d ", (int)cell[c].chunk, "FBIW"[cell[c].kind], (int)cell[c].micro);
        EXPECT_TEXT(text, cases[i].right);
    }
}

TEST(cells_come_in_the_order_of_the_papers)
{ /* 1F1B: Narayanan et al. 2021, figure 4 (top), with 4 stages; GPipe: Huang et al. 2019, figure 2. */
    static const struct {
        enum schedule schedule;
        int pp, stage, micro_batches;
        const char *right;
    } cases[] = {
        { ORDER_1F1B, 4, 0, 8, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 " },
        { ORDER_1F1B, 4, 1, 8, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7 " },
        { ORDER_1F1B, 4, 3, 4, "F0 B0 F1 B1 F2 B2 F3 B3 " },
        { ORDER_1F1B, 4, 0, 2, "F0 F1 B0 B1 " },
        { ORDER_1F1B, 4, 2, 1, "F0 B0 " },
        { ORDER_1F1B, 1, 0, 2, "F0 B0 F1 B1 " },
        { ORDER_ZB_H1, 4, 0, 5, "F0 F1 F2 F3 I0 W0 F4 I1 W1 I2 W2 I3 W3 I4 W4 " },
        { ORDER_ZB_H1, 4, 3, 5, "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 W2 W3 W4 " },
        { ORDER_ZB_H2, 3, 0, 6, "F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 " },
        { ORDER_ZB_H2, 3, 2, 6, "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5 " },
        { ORDER_ZB_H1, 4, 2, 2, "F0 F1 I0 I1 W0 W1 " },
        { ORDER_GPIPE, 4, 0, 3, "F0 F1 F2 B0 B1 B2 " },
        { ORDER_GPIPE, 4, 3, 3, "F0 F1 F2 B0 B1 B2 " },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct layout_input layout = { .pp = cases[i].pp, .chunks = 1, .schedule = cases[i].schedule, .micro_batches = cases[i].micro_batches };
        struct cell cell[24];
        char text[256] = "";
        int64_t cells = order_cells(cell, &layout, cases[i].stage);
        for (int64_t c = 0; c < cells; c++)
            sprintf(text + strlen(text), "%c%d ", "FBIW"[cell[c].kind], (int)cell[c].micro);
        EXPECT_TEXT(text, cases[i].right);
    }
}

/* The most micro-batches whose activations live at once. */
static int in_flight(const struct stage *stage)
{
    int most = 0;
    for (int32_t step = 0; step < stage->train.steps; step++) {
        int live = 0;
        for (int32_t i = 0; i < stage->buffers && stage->buffer[i].first_step <= INT32_MAX; i++) {
            const struct buffer *b = &stage->buffer[i];
            bool of_training = i < stage->evaluate.step[0].batch;
            live +=
                of_training && b->kind == BUFFER_SAVED && b->layer == stage->chunk[0].first_layer && b->first_step <= step && step <= b->last_step;
        }
        most = live > most ? live : most;
    }
    return most;
}

TEST(stage_s_of_1f1b_holds_pp_minus_s_micro_batches)
{ /* Narayanan et al. 2021, section 2.2.1; GPipe holds all. */
    struct input in = tiny(1, 4, 1);
    struct draft draft;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    for (int s = 0; s < 4; s++)
        EXPECT_EQ(in_flight(&draft.stage[s]), 4 - s);
    draft_free(&draft);
    in.layout.schedule = ORDER_GPIPE;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_EQ(in_flight(&draft.stage[3]), 8);
    draft_free(&draft);
}

/* ---- sizes: worked out by hand from the shapes (hidden 32, 8 heads of 8, 2 KV heads, 96, vocabulary 259) ---- */

TEST(derived_values_of_three_layouts)
{ /* A layer of the single rank: 64 for a norm's 32 elements (runs start at multiples of 64), q k v (64+16+16)*32, o 32*64, a norm, gate and up
     * 192*32, down 32*96: 14,400 with the gaps. Embedding 259*32 = 8,288 fills 8,320; head 64 + 8,288 fills 8,384. Sum 146,880... */
    static const struct {
        int tp, pp, dp;
        int64_t parameters[2], saved, work, arena;
    } cases[] = {
        { 1, 1, 1, { 146880 }, 403456, 360448, 6716416 },
        { 2, 2, 2, { 40704, 33408 }, 201728, 245760, 2968576 },
        { 8, 1, 1, { 22976 }, 62976, 135168, 1128960 },
    };
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct input in = tiny(cases[i].tp, cases[i].pp, cases[i].dp);
        struct draft draft;
        EXPECT_EQ(draft_make(&draft, &in), OK);
        EXPECT_EQ(draft.parameters, 146208);
        for (int s = 0; s < cases[i].pp; s++)
            EXPECT_EQ(draft.stage[s].parameter_elements, cases[i].parameters[s]);
        EXPECT_EQ(draft.saved_bytes + draft.core_bytes, cases[i].saved);
        EXPECT_EQ(draft.work_bytes[WORK_LAYER_BACKWARD], cases[i].work);
        EXPECT_EQ(draft.arena_bytes, cases[i].arena);
        draft_free(&draft);
    }
}

TEST(state_is_cut_over_dp)
{ /* ZeRO-1, Rajbhandari et al. 2020: two moments of 4 bytes a parameter, over DP ranks. */
    struct input in = tiny(1, 1, 8);
    struct draft draft;
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_EQ(draft.stage[0].state_elements * 8, draft.stage[0].parameter_elements);
    draft_free(&draft);
}

TEST(arena_is_within_5_percent_of_the_largest_live_set)
{
    for (int i = 0; sample(i) != NULL; i++) {
        struct draft draft;
        EXPECT_EQ(draft_make(&draft, sample(i)), OK);
        for (int s = 0; s < sample(i)->layout.pp; s++) {
            EXPECT(draft.stage[s].arena_bytes >= draft.stage[s].arena_bound_bytes);
            EXPECT((double)draft.stage[s].arena_bytes <= 1.05 * (double)draft.stage[s].arena_bound_bytes);
        }
        draft_free(&draft);
    }
}

/* Bytes of kind that live at the fullest moment of its own. */
static int64_t most_live(const struct stage *stage, enum buffer_kind kind)
{
    int64_t most = 0;
    for (int32_t step = 0; step < stage->train.steps; step++) {
        int64_t live = 0;
        for (int32_t i = 0; i < stage->evaluate.step[0].batch; i++)
            if (stage->buffer[i].kind == kind && stage->buffer[i].first_step <= step && step <= stage->buffer[i].last_step)
                live += stage->buffer[i].bytes;
        most = live > most ? live : most;
    }
    return most;
}

TEST(recompute_keeps_what_it_says)
{ /* One micro-batch in flight on one rank: without recompute all 9 layers' activations live at once, with it one layer's at a time; by layers,
     those of the five layers behind the first four, whose own never live beside them. The core alone under selective recompute. */
    static const struct {
        enum recompute recompute;
        int layers, saved, core;
    } modes[] = { { AGAIN_NONE, 0, 9, 9 }, { AGAIN_SELECTIVE, 0, 9, 1 }, { AGAIN_FULL, 0, 1, 1 }, { AGAIN_LAYERS, 4, 5, 5 } };
    for (int i = 0; i < ELEMENTS_OF(modes); i++) {
        struct input in = tiny(1, 1, 1);
        struct draft draft;
        in.layout.recompute = modes[i].recompute;
        in.layout.recompute_layers = modes[i].layers;
        EXPECT_EQ(draft_make(&draft, &in), OK);
        EXPECT_EQ(most_live(&draft.stage[0], BUFFER_SAVED), modes[i].saved * round_up(draft.saved_bytes, ARENA_ALIGN_BYTES));
        EXPECT_EQ(most_live(&draft.stage[0], BUFFER_CORE), modes[i].core * round_up(draft.core_bytes, ARENA_ALIGN_BYTES));
        draft_free(&draft);
    }
}

TEST(smollm2_135m_at_512_tokens_takes_less_than_2600_mib)
{
    struct input in = tiny(1, 1, 1);
    struct draft draft;
    in.layout.sequence_tokens = 512;
    in.board.device_memory_bytes = 2600LL << 20;
    in.model = (struct model_input){ .name = "smollm2-135m",
                                     .header = "m.h",
                                     .hidden = 576,
                                     .layers = 30,
                                     .heads = 9,
                                     .kv_heads = 3,
                                     .head_dim = 64,
                                     .intermediate = 1536,
                                     .vocabulary = 49152,
                                     .positions = 8192,
                                     .tied = true };
    EXPECT_EQ(draft_make(&draft, &in), OK);
    EXPECT_EQ(draft.parameters, 134515008);
    draft_free(&draft);
}

TEST(tables_are_written_to_the_same_bytes)
{
    char *text[2];
    size_t bytes[2];
    for (int run = 0; run < 2; run++) {
        struct input in = tiny(2, 2, 2);
        struct draft draft;
        EXPECT_EQ(draft_make(&draft, &in), OK);
        FILE *file = open_memstream(&text[run], &bytes[run]);
        emit_tables(file, &draft);
        report_size(file, &draft);
        fclose(file);
        draft_free(&draft);
    }
    EXPECT_EQ(bytes[0], bytes[1]);
    EXPECT(memcmp(text[0], text[1], bytes[0]) == 0);
    free(text[0]);
    free(text[1]);
}

/* ---- what is refused, in the headers' words ---- */

static const int32_t two_stages[] = { 4, 5 }, three_stages[] = { 3, 3, 3 }, empty_stage[] = { 9, 0 }, too_many_layers[] = { 5, 5 };

#define BAD(name) static void name(struct input *in)
BAD(tp_above_heads)
{
    in->layout.tp = 16;
}
BAD(tp_not_dividing_heads)
{
    in->layout.tp = 3;
}
BAD(tp_not_dividing_intermediate)
{
    in->layout.tp = 8;
    in->model.intermediate = 172;
}
BAD(tp_against_kv_heads)
{
    in->layout.tp = 4;
    in->model.heads = 24;
    in->model.kv_heads = 6;
}
BAD(kv_heads_not_dividing)
{
    in->model.kv_heads = 3;
}
BAD(odd_head)
{
    in->model.head_dim = 9;
}
BAD(devices_too_few)
{
    in->layout.tp = in->layout.pp = in->layout.dp = 2;
}
BAD(stages_above_layers)
{
    in->layout.pp = 16;
    in->board.devices_per_node = in->board.link_group_devices = 16;
}
BAD(sequence_above_positions)
{
    in->layout.sequence_tokens = 512;
}
BAD(sequence_of_make_above_positions)
{
    in->layout.sequence_tokens = 512;
    in->layout.sequence_tokens_by_make = true;
}
BAD(no_micro_batch)
{
    in->layout.micro_batches = 0;
}
BAD(no_rows_by_make)
{
    in->layout.micro_batch_rows = 0;
    in->layout.micro_batch_rows_by_make = true;
}
BAD(context_parallel)
{
    in->layout.cp = 2;
}
BAD(zero_4) { in->layout.zero = 4; }
BAD(zero_below) { in->layout.zero = -1; }
BAD(zero_3_of_one) { in->layout.zero = 3; }
BAD(no_bucket_layers) { in->layout.bucket_layers = 0; }
BAD(chunks_of_1f1b) { in->layout.chunks = 2; }
BAD(one_chunk_interleaved) { in->layout.schedule = ORDER_INTERLEAVED; }
BAD(three_chunks_of_zb_v) { in->layout.schedule = ORDER_ZB_V; in->layout.chunks = 3; in->layout.folded = true; }
BAD(folded_1f1b) { in->layout.folded = true; }
BAD(chunks_without_stages) { in->layout.schedule = ORDER_INTERLEAVED; in->layout.chunks = 2; in->layout.pp = 1; }
BAD(more_chunks_than_layers) { in->layout.schedule = ORDER_INTERLEAVED; in->layout.chunks = 5; in->layout.pp = 2; }
BAD(too_many_chunks) { in->layout.schedule = ORDER_INTERLEAVED; in->layout.chunks = 9; }
BAD(unknown_schedule)
{
    in->layout.schedule = ORDER_UNKNOWN;
    in->layout.schedule_value = 17;
}
BAD(tp_over_two_link_groups)
{
    in->layout.tp = 8;
    in->board.devices_per_node = 8;
    in->board.link_group_devices = 4;
}
BAD(stage_list_too_long)
{
    in->layout.pp = 2;
    in->layout.stage_layers = three_stages;
    in->layout.stage_layers_count = 3;
}
BAD(stage_without_layer)
{
    in->layout.pp = 2;
    in->layout.stage_layers = empty_stage;
    in->layout.stage_layers_count = 2;
}
BAD(stage_list_adds_up_wrong)
{
    in->layout.pp = 2;
    in->layout.stage_layers = too_many_layers;
    in->layout.stage_layers_count = 2;
}
BAD(stage_list_of_other_degree)
{
    in->layout.stage_layers = two_stages;
    in->layout.stage_layers_count = 2;
}
BAD(device_too_small)
{
    in->board.device_memory_bytes = 1 << 20;
}
BAD(rows_that_tp_does_not_divide) { in->layout.tp = 2; in->board.devices_per_node = in->board.link_group_devices = 2; in->layout.micro_batch_rows = 1; in->layout.sequence_tokens = 255; }
BAD(unknown_recompute) { in->layout.recompute = AGAIN_UNKNOWN; in->layout.recompute_value = 9; }
BAD(recompute_of_too_many_layers) { in->layout.recompute = AGAIN_LAYERS; in->layout.recompute_layers = 10; }
BAD(recompute_layers_without_mode) { in->layout.recompute_layers = 3; }
BAD(device_a_little_too_small)
{
    in->board.device_memory_bytes = 6716416 - 1;
    in->layout.micro_batch_rows = 1;
}
BAD(gpipe_too_large)
{
    *in = tiny(1, 4, 1);
    in->layout.schedule = ORDER_GPIPE;
    in->board.device_memory_bytes = 8000000;
}
BAD(dp_too_large)
{
    *in = tiny(1, 1, 8);
    in->board.device_memory_bytes = 4000000;
}
BAD(rows_too_many)
{
    in->layout.micro_batch_rows = 4;
    in->board.device_memory_bytes = 7000000;
}

TEST(what_cannot_be_is_refused_in_one_line_that_says_what_can)
{
    static const struct {
        const char *name;
        void (*change)(struct input *in);
        const char *parts[4];
    } cases[] = {
#define ROW(function, ...)                                                                                                                 \
    {                                                                                                                                      \
#function, function,                                                                                                               \
        {                                                                                                                                  \
            __VA_ARGS__                                                                                                                    \
        }                                                                                                                                  \
    }
        ROW(tp_above_heads, "layouts/sample.h: LAYOUT_TP is 16", "MODEL_HEADS 8 of layouts/models/sample.h", "may be 1, 2, 4, 8"),
        ROW(tp_not_dividing_heads, "LAYOUT_TP is 3", "does not divide MODEL_HEADS 8", "may be 1, 2, 4, 8"),
        ROW(tp_not_dividing_intermediate, "LAYOUT_TP is 8", "does not divide MODEL_INTERMEDIATE 172", "may be 1, 2, 4"),
        ROW(tp_against_kv_heads, "LAYOUT_TP is 4", "MODEL_KV_HEADS 6", "may be 1, 2, 3, 6, 12, 24"),
        ROW(kv_heads_not_dividing, "layouts/models/sample.h: MODEL_KV_HEADS is 3", "divide MODEL_HEADS, which is 8"),
        ROW(odd_head, "MODEL_HEAD_DIM is 9", "even"),
        ROW(devices_too_few, "layouts/sample.h", "= 8 ranks", "boards/sample/board.h", "= 1 devices"),
        ROW(stages_above_layers, "LAYOUT_PP is 16 stages", "MODEL_LAYERS 9", "may be 1 to 9"),
        ROW(sequence_above_positions, "layouts/sample.h: LAYOUT_SEQUENCE_TOKENS is 512", "MODEL_POSITIONS 256", "make SEQ=256"),
        ROW(sequence_of_make_above_positions, "make: SEQ is 512", "MODEL_POSITIONS 256"),
        ROW(no_micro_batch, "LAYOUT_MICRO_BATCHES is 0; allowed are 1 to"),
        ROW(no_rows_by_make, "make: ROWS is 0; allowed are 1 to"),
        ROW(context_parallel, "LAYOUT_CP is 2; allowed"),
        ROW(rows_that_tp_does_not_divide, "a micro-batch of 1 rows of 255 tokens does not divide over LAYOUT_TP 2", "LAYOUT_SEQUENCE_PARALLEL 0"),
        ROW(unknown_recompute, "LAYOUT_RECOMPUTE is 9", "RECOMPUTE_SELECTIVE"),
        ROW(recompute_of_too_many_layers, "LAYOUT_RECOMPUTE_LAYERS is 10; allowed are 1 to 9"),
        ROW(recompute_layers_without_mode, "LAYOUT_RECOMPUTE_LAYERS is 3, but LAYOUT_RECOMPUTE is not RECOMPUTE_LAYERS"),
        ROW(zero_4, "LAYOUT_ZERO is 4; allowed are 0 (nothing is cut over DP)"),
        ROW(zero_below, "LAYOUT_ZERO is -1; allowed are 0"),
        ROW(zero_3_of_one, "LAYOUT_ZERO is 3, but LAYOUT_DP is 1", "take 0 or 1"),
        ROW(no_bucket_layers, "LAYOUT_BUCKET_LAYERS is 0"),
        ROW(chunks_of_1f1b, "LAYOUT_CHUNKS is 2", "only SCHEDULE_INTERLEAVED, SCHEDULE_ZB_V and SCHEDULE_TABLE"),
        ROW(one_chunk_interleaved, "LAYOUT_CHUNKS is 1", "needs 2 to 8 chunks"),
        ROW(three_chunks_of_zb_v, "LAYOUT_CHUNKS is 3", "SCHEDULE_ZB_V has 2"),
        ROW(folded_1f1b, "LAYOUT_FOLDED is 1", "leave it out"),
        ROW(chunks_without_stages, "LAYOUT_CHUNKS is 2", "LAYOUT_PP is 1"),
        ROW(more_chunks_than_layers, "LAYOUT_PP 2 x LAYOUT_CHUNKS 5 are 10 virtual stages", "MODEL_LAYERS 9"),
        ROW(too_many_chunks, "LAYOUT_CHUNKS is 9", "1 to 8"),
        ROW(unknown_schedule, "LAYOUT_SCHEDULE is 17", "SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_ZB_H1, SCHEDULE_ZB_H2, SCHEDULE_INTERLEAVED, SCHEDULE_ZB_V and SCHEDULE_TABLE"),
        ROW(tp_over_two_link_groups, "ranks 0 to 7", "BOARD_LINK_GROUP_DEVICES 4", "LAYOUT_TP_ACROSS_LINK_GROUPS 1"),
        ROW(stage_list_too_long, "LAYOUT_STAGE_LAYERS has 3 numbers, LAYOUT_PP is 2"),
        ROW(stage_without_layer, "LAYOUT_STAGE_LAYERS gives stage 1 0 layers"),
        ROW(stage_list_adds_up_wrong, "LAYOUT_STAGE_LAYERS adds up to 10 layers", "MODEL_LAYERS 9"),
        ROW(stage_list_of_other_degree, "LAYOUT_STAGE_LAYERS has 2 numbers, LAYOUT_PP is 1"),
        ROW(device_too_small, "needs 6.4 MiB", "BOARD_DEVICE_MEMORY_BYTES of boards/sample/board.h, which is 1.0 MiB", "no single change"),
        ROW(device_a_little_too_small, " 1 bytes (1 bytes) more", "largest: saved activations 2.8 MiB", "LAYOUT_RECOMPUTE RECOMPUTE_FULL would fit"),
        ROW(gpipe_too_large, "layouts/sample.h: stage 2", "LAYOUT_SCHEDULE SCHEDULE_1F1B would fit"),
        ROW(dp_too_large, "LAYOUT_TP 2 with LAYOUT_DP 4 would fit"),
        ROW(rows_too_many, "LAYOUT_MICRO_BATCH_ROWS 1 (make ROWS=1) would fit"),
#undef ROW
    };
    status_quiet(true);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct input in = tiny(1, 1, 1);
        struct draft draft;
        cases[i].change(&in);
        enum status status = draft_make(&draft, &in);
        if (status != E_USAGE)
            test_fail(__FILE__, __LINE__, "%s: status %d", cases[i].name, status);
        for (int p = 0; p < 4 && cases[i].parts[p] != NULL; p++)
            EXPECT_HOLDS(status_message(), cases[i].parts[p]);
        EXPECT(strchr(status_message(), '\n') == NULL);
        draft_free(&draft);
    }
    status_quiet(false);
}
