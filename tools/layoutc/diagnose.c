/* diagnose.c: see diagnose.h. Build host.
 *
 * (1) The first thing that is wrong is said, in one line; what is derived from it is not. */
#include "tools/layoutc/diagnose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_BYTES = 256, INDEX_MOST = INT16_MAX };

/* ---- the headers ---- */

static bool tp_suits_model(const struct model_input *m, int64_t tp)
{
    return m->heads % tp == 0 && m->intermediate % tp == 0 && (m->kv_heads % tp == 0 || tp % m->kv_heads == 0);
}

/* "1, 2, 4": every TP that suits the model. */
static const char *tp_choices(char text[LIST_BYTES], const struct model_input *m)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t tp = 1; tp <= m->heads && used < LIST_BYTES - 24; tp++)
        if (tp_suits_model(m, tp))
            used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s%" PRId64, used == 0 ? "" : ", ", tp);
    return text;
}

static enum status check_positive(const char *header, const char *constant, int64_t value, int64_t most)
{
    if (value >= 1 && value <= most)
        return OK;
    return fail(E_USAGE, "%s: %s is %" PRId64 "; allowed are 1 to %" PRId64, header, constant, value, most);
}

static enum status check_flag(const char *header, const char *constant, int64_t value)
{
    return value == 0 || value == 1 ? OK : fail(E_USAGE, "%s: %s is %" PRId64 "; allowed are 0 and 1", header, constant, value);
}

static enum status check_ranges(const struct input *input)
{
    const struct board_input *b = &input->board;
    const struct layout_input *l = &input->layout;
    const struct model_input *m = &input->model;
    const struct {
        const char *header, *constant;
        int64_t value, most;
    } ranges[] = {
        { b->header, "BOARD_NODES", b->nodes, INDEX_MOST },
        { b->header, "BOARD_DEVICES_PER_NODE", b->devices_per_node, INDEX_MOST },
        { b->header, "BOARD_LINK_GROUP_DEVICES", b->link_group_devices, b->devices_per_node },
        { b->header, "BOARD_DEVICE_MEMORY_BYTES", b->device_memory_bytes, INT64_MAX },
        { b->header, "BOARD_MEMORY_BYTES_PER_SECOND", b->memory_bytes_per_second, INT64_MAX },
        { b->header, "BOARD_FLOPS_PER_SECOND", b->flops_per_second, INT64_MAX },
        { l->header, "LAYOUT_TP", l->tp, INDEX_MOST },
        { l->header, "LAYOUT_PP", l->pp, INDEX_MOST },
        { l->header, "LAYOUT_DP", l->dp, INDEX_MOST },
        { l->header, "LAYOUT_CP", l->cp, 1 },
        { l->micro_batches_by_make ? "make" : l->header, l->micro_batches_by_make ? "MICRO" : "LAYOUT_MICRO_BATCHES", l->micro_batches,
          INDEX_MOST },
        { l->micro_batch_rows_by_make ? "make" : l->header, l->micro_batch_rows_by_make ? "ROWS" : "LAYOUT_MICRO_BATCH_ROWS",
          l->micro_batch_rows, INDEX_MOST },
        { l->sequence_tokens_by_make ? "make" : l->header, l->sequence_tokens_by_make ? "SEQ" : "LAYOUT_SEQUENCE_TOKENS",
          l->sequence_tokens, 1 << 24 },
        { l->header, "LAYOUT_BUCKET_LAYERS", l->bucket_layers, INDEX_MOST },
        { m->header, "MODEL_HIDDEN", m->hidden, 1 << 20 },
        { m->header, "MODEL_LAYERS", m->layers, INDEX_MOST },
        { m->header, "MODEL_HEADS", m->heads, INDEX_MOST },
        { m->header, "MODEL_KV_HEADS", m->kv_heads, INDEX_MOST },
        { m->header, "MODEL_HEAD_DIM", m->head_dim, INDEX_MOST },
        { m->header, "MODEL_INTERMEDIATE", m->intermediate, 1 << 24 },
        { m->header, "MODEL_VOCABULARY", m->vocabulary, 1 << 28 },
        { m->header, "MODEL_POSITIONS", m->positions, 1 << 28 },
    };
    for (int i = 0; i < ELEMENTS_OF(ranges); i++)
        TRY(check_positive(ranges[i].header, ranges[i].constant, ranges[i].value, ranges[i].most));
    return OK;
}

static enum status check_devices(const struct input *input)
{
    const struct board_input *b = &input->board;
    const struct layout_input *l = &input->layout;
    int64_t ranks = l->tp * l->pp * l->dp * l->cp, devices = b->nodes * b->devices_per_node;
    if (ranks == devices)
        return OK;
    return fail(E_USAGE,
                "%s: LAYOUT_TP %" PRId64 " x LAYOUT_PP %" PRId64 " x LAYOUT_DP %" PRId64 " = %" PRId64
                " ranks, but %s has BOARD_NODES %" PRId64 " x BOARD_DEVICES_PER_NODE %" PRId64 " = %" PRId64
                " devices; the two must be equal",
                l->header, l->tp, l->pp, l->dp, ranks, b->header, b->nodes, b->devices_per_node, devices);
}

static enum status check_tensor_parallel(const struct input *input)
{
    const struct layout_input *l = &input->layout;
    const struct model_input *m = &input->model;
    char choices[LIST_BYTES];
    if (m->heads % m->kv_heads != 0)
        return fail(E_USAGE, "%s: MODEL_KV_HEADS is %" PRId64 "; it must divide MODEL_HEADS, which is %" PRId64, m->header, m->kv_heads,
                    m->heads);
    if (m->head_dim % 2 != 0)
        return fail(E_USAGE, "%s: MODEL_HEAD_DIM is %" PRId64 "; rotary positions need an even one", m->header, m->head_dim);
    if (tp_suits_model(m, l->tp))
        return OK;
    tp_choices(choices, m);
    if (l->tp > m->heads)
        return fail(E_USAGE, "%s: LAYOUT_TP is %" PRId64 ", more than MODEL_HEADS %" PRId64 " of %s; for this model LAYOUT_TP may be %s",
                    l->header, l->tp, m->heads, m->header, choices);
    if (m->heads % l->tp != 0 || m->intermediate % l->tp != 0)
        return fail(E_USAGE, "%s: LAYOUT_TP is %" PRId64 "; it does not divide %s %" PRId64 " of %s; for this model LAYOUT_TP may be %s",
                    l->header, l->tp, m->heads % l->tp != 0 ? "MODEL_HEADS" : "MODEL_INTERMEDIATE",
                    m->heads % l->tp != 0 ? m->heads : m->intermediate, m->header, choices);
    return fail(E_USAGE,
                "%s: LAYOUT_TP is %" PRId64 "; it neither divides MODEL_KV_HEADS %" PRId64 " of %s nor is a multiple of it; for this model "
                "LAYOUT_TP may be %s",
                l->header, l->tp, m->kv_heads, m->header, choices);
}

/* TP ranks are neighbours, and link groups are neighbouring devices. */
static enum status check_link_groups(const struct input *input)
{
    const struct board_input *b = &input->board;
    const struct layout_input *l = &input->layout;
    int64_t devices = b->nodes * b->devices_per_node;
    if (b->devices_per_node % b->link_group_devices != 0)
        return fail(E_USAGE, "%s: BOARD_LINK_GROUP_DEVICES is %" PRId64 "; it must divide BOARD_DEVICES_PER_NODE %" PRId64, b->header,
                    b->link_group_devices, b->devices_per_node);
    for (int64_t first = 0; first < devices && !l->tp_across_link_groups; first += l->tp) {
        int64_t last = first + l->tp - 1;
        if (first / b->link_group_devices != last / b->link_group_devices)
            return fail(E_USAGE,
                        "%s: LAYOUT_TP is %" PRId64 "; ranks %" PRId64 " to %" PRId64
                        " are one TP group over two link groups of %s, which has "
                        "BOARD_LINK_GROUP_DEVICES %" PRId64
                        "; take a LAYOUT_TP that divides it, or set LAYOUT_TP_ACROSS_LINK_GROUPS 1 if it is meant",
                        l->header, l->tp, first, last, b->header, b->link_group_devices);
    }
    return OK;
}

static enum status check_chunks(const struct layout_input *l)
{
    bool table = l->schedule == ORDER_TABLE;
    TRY(check_positive(l->header, "LAYOUT_CHUNKS", l->chunks, CHUNKS_MOST));
    TRY(check_flag(l->header, "LAYOUT_FOLDED", l->folded_value));
    if (l->chunks > 1 && l->schedule != ORDER_INTERLEAVED && l->schedule != ORDER_ZB_V && !table)
        return fail(E_USAGE, "%s: LAYOUT_CHUNKS is %" PRId64 "; only SCHEDULE_INTERLEAVED, SCHEDULE_ZB_V and SCHEDULE_TABLE take more than 1 chunk a stage",
                    l->header, l->chunks);
    if (l->schedule == ORDER_INTERLEAVED && l->chunks == 1)
        return fail(E_USAGE, "%s: LAYOUT_CHUNKS is 1; SCHEDULE_INTERLEAVED needs 2 to %d chunks a stage", l->header, CHUNKS_MOST);
    if (l->schedule == ORDER_ZB_V && l->chunks != 2)
        return fail(E_USAGE, "%s: LAYOUT_CHUNKS is %" PRId64 "; SCHEDULE_ZB_V has 2 chunks a stage", l->header, l->chunks);
    if (l->folded != (l->schedule == ORDER_ZB_V) && !table)
        return fail(E_USAGE, "%s: LAYOUT_FOLDED is %d; SCHEDULE_ZB_V is folded, SCHEDULE_TABLE may be, no other schedule is: leave it out", l->header,
                    (int)l->folded);
    if (l->chunks > 1 && l->pp == 1)
        return fail(E_USAGE, "%s: LAYOUT_CHUNKS is %" PRId64 ", but LAYOUT_PP is 1: chunks are parts of a pipeline's stages", l->header, l->chunks);
    return OK;
}

static enum status check_stages(const struct input *input)
{
    const struct layout_input *l = &input->layout;
    const struct model_input *m = &input->model;
    if (l->schedule == ORDER_UNKNOWN)
        return fail(E_USAGE, "%s: LAYOUT_SCHEDULE is %" PRId64 "; allowed are SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_ZB_H1, SCHEDULE_ZB_H2, SCHEDULE_INTERLEAVED, SCHEDULE_ZB_V and SCHEDULE_TABLE", l->header,
                    l->schedule_value);
    TRY(check_chunks(l));
    if (l->chunks > 1 && l->pp * l->chunks > m->layers)
        return fail(E_USAGE,
                    "%s: LAYOUT_PP %" PRId64 " x LAYOUT_CHUNKS %" PRId64 " are %" PRId64 " virtual stages, but %s has MODEL_LAYERS %" PRId64
                    "; every one needs a layer",
                    l->header, l->pp, l->chunks, l->pp * l->chunks, m->header, m->layers);
    if (l->pp > m->layers)
        return fail(E_USAGE,
                    "%s: LAYOUT_PP is %" PRId64 " stages, but %s has MODEL_LAYERS %" PRId64
                    "; every stage needs a layer: LAYOUT_PP may be 1 to %" PRId64,
                    l->header, l->pp, m->header, m->layers, m->layers);
    if (l->stage_layers == NULL)
        return OK;
    int64_t sum = 0;
    for (int32_t s = 0; s < l->stage_layers_count; s++) {
        if (l->stage_layers[s] < 1)
            return fail(E_USAGE, "%s: LAYOUT_STAGE_LAYERS gives stage %d %d layers; every stage needs at least 1", l->header, (int)s,
                        (int)l->stage_layers[s]);
        sum += l->stage_layers[s];
    }
    if (l->stage_layers_count != l->pp * l->chunks)
        return fail(E_USAGE, "%s: LAYOUT_STAGE_LAYERS has %d numbers, LAYOUT_PP is %" PRId64 "%s; it needs one a %s", l->header,
                    (int)l->stage_layers_count, l->pp, l->chunks > 1 ? " and LAYOUT_CHUNKS more than 1" : "",
                    l->chunks > 1 ? "virtual stage, in the order of the layers" : "stage");
    if (sum != m->layers)
        return fail(E_USAGE, "%s: LAYOUT_STAGE_LAYERS adds up to %" PRId64 " layers, %s has MODEL_LAYERS %" PRId64, l->header, sum,
                    m->header, m->layers);
    return OK;
}

static enum status check_zero(const struct layout_input *l)
{
    if (l->zero < 0 || l->zero > 3)
        return fail(E_USAGE, "%s: LAYOUT_ZERO is %" PRId64 "; allowed are 0 (nothing is cut over DP), 1 (optimizer state), 2 (and gradients), 3 (and parameters)",
                    l->header, l->zero);
    if (l->zero >= 2 && l->dp == 1)
        return fail(E_USAGE, "%s: LAYOUT_ZERO is %" PRId64 ", but LAYOUT_DP is 1: there is nothing to cut over; take 0 or 1", l->header, l->zero);
    return OK;
}

static enum status check_recompute(const struct input *input)
{
    const struct layout_input *l = &input->layout;
    if (l->recompute == AGAIN_UNKNOWN)
        return fail(E_USAGE,
                    "%s: LAYOUT_RECOMPUTE is %" PRId64
                    "; allowed are RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL and RECOMPUTE_LAYERS",
                    l->header, l->recompute_value);
    if (l->recompute == AGAIN_LAYERS)
        return check_positive(l->header, "LAYOUT_RECOMPUTE_LAYERS", l->recompute_layers, input->model.layers);
    if (l->recompute_layers != 0)
        return fail(E_USAGE, "%s: LAYOUT_RECOMPUTE_LAYERS is %" PRId64 ", but LAYOUT_RECOMPUTE is not RECOMPUTE_LAYERS; leave it out",
                    l->header, l->recompute_layers);
    return OK;
}

static enum status check_sequence(const struct input *input)
{
    const struct layout_input *l = &input->layout;
    const struct model_input *m = &input->model;
    int64_t tokens = l->micro_batch_rows * l->sequence_tokens;
    TRY(check_flag(l->header, "LAYOUT_SEQUENCE_PARALLEL", l->sequence_parallel));
    if (l->sequence_parallel && tokens % l->tp != 0)
        return fail(E_USAGE,
                    "%s: a micro-batch of %" PRId64 " rows of %" PRId64 " tokens does not divide over LAYOUT_TP %" PRId64
                    "; take a sequence length that does, or set LAYOUT_SEQUENCE_PARALLEL 0",
                    l->header, l->micro_batch_rows, l->sequence_tokens, l->tp);
    if (l->sequence_tokens <= m->positions)
        return OK;
    return fail(E_USAGE,
                "%s: %s is %" PRId64 ", but %s has MODEL_POSITIONS %" PRId64 "; allowed are 1 to %" PRId64 " (make SEQ=%" PRId64 ")",
                l->sequence_tokens_by_make ? "make" : l->header, l->sequence_tokens_by_make ? "SEQ" : "LAYOUT_SEQUENCE_TOKENS",
                l->sequence_tokens, m->header, m->positions, m->positions, m->positions);
}

enum status diagnose_input(const struct input *input)
{
    const struct model_input *m = &input->model;
    TRY(check_ranges(input));
    TRY(check_flag(m->header, "MODEL_TIED", m->tied));
    TRY(check_tensor_parallel(input));
    TRY(check_stages(input));
    TRY(check_zero(&input->layout));
    TRY(check_recompute(input));
    TRY(check_devices(input));
    TRY(check_link_groups(input));
    return check_sequence(input);
}
