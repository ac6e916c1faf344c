/* input.c: see input.h. Build host. The one file of this folder that is compiled for each image.
 *
 * (1) The hash is over what the headers say, not where they lie: name, length and content of each, then the overrides, then the version of
 *     the tables' form. */
#define CONFIG_FACTS_ONLY
#include "src/config.h"
#include "tools/layoutc/required.h"

#include "tools/layoutc/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Raised with every change of what layoutc makes of the same headers. */
static const char tables_version[] = "nocturne 0.1 tables 7";

#define TEXT_OF(value) #value
#define TEXT(value)    TEXT_OF(value)
#ifdef SEQ
#define SEQ_SUFFIX "+seq" TEXT(SEQ)
#else
#define SEQ_SUFFIX ""
#endif
#ifdef ROWS
#define ROWS_SUFFIX "+rows" TEXT(ROWS)
#else
#define ROWS_SUFFIX ""
#endif
#ifdef MICRO
#define MICRO_SUFFIX "+micro" TEXT(MICRO)
#else
#define MICRO_SUFFIX ""
#endif
static const char suffix[] = SEQ_SUFFIX ROWS_SUFFIX MICRO_SUFFIX;

#ifdef LAYOUT_SCHEDULE_FILE
static const char schedule_file[] = LAYOUT_SCHEDULE_FILE;
#else
static const char schedule_file[] = "";
#endif
#ifdef LAYOUT_STAGE_LAYERS
static const int32_t stage_layers[] = LAYOUT_STAGE_LAYERS;
#endif

/* "tp4pp2" of "layouts/tp4pp2.h", with the overrides behind it. */
static const char *layout_name(void)
{
    static char name[256];
    const char *slash = strrchr(LAYOUT_HEADER, '/'), *base = slash == NULL ? LAYOUT_HEADER : slash + 1;
    const char *dot = strrchr(base, '.');
    snprintf(name, sizeof name, "%.*s%s", dot == NULL ? (int)strlen(base) : (int)(dot - base), base, suffix);
    return name;
}

static enum status hash_header(XXH64_state_t *state, const char *path)
{
    char block[1 << 14];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(E_READ, "%s: cannot be read: %s; layoutc runs in the project's top folder", path, strerror(errno));
    uint64_t total = 0;
    for (size_t bytes; (bytes = fread(block, 1, sizeof block, file)) > 0; total += bytes)
        XXH64_update(state, block, bytes);
    bool bad = ferror(file) != 0;
    fclose(file);
    XXH64_update(state, &total, sizeof total);
    return bad ? fail(E_READ, "%s: cannot be read", path) : OK;
}

static enum status hash_inputs(uint64_t *hash)
{
    static const char *const headers[] = { BOARD_HEADER, LAYOUT_HEADER, MODEL_HEADER, METHOD_HEADER };
    XXH64_state_t *state = XXH64_createState();
    if (state == NULL)
        return fail(E_AGAIN, "no memory for a hash");
    XXH64_reset(state, 0);
    XXH64_update(state, tables_version, sizeof tables_version);
    enum status status = OK;
    for (int i = 0; i < ELEMENTS_OF(headers) && status == OK; i++)
        status = hash_header(state, headers[i]);
    if (status == OK && LAYOUT_SCHEDULE == SCHEDULE_TABLE)
        status = hash_header(state, schedule_file);
    XXH64_update(state, layout_name(), strlen(layout_name()));
    *hash = XXH64_digest(state);
    XXH64_freeState(state);
    return status;
}

enum status input_read(struct input *input)
{
    *input = (struct input){
        .board = {
            .name = BOARD_NAME, .header = BOARD_HEADER, .nodes = BOARD_NODES, .devices_per_node = BOARD_DEVICES_PER_NODE,
            .link_group_devices = BOARD_LINK_GROUP_DEVICES, .device_memory_bytes = BOARD_DEVICE_MEMORY_BYTES,
            .real_bytes = REAL_BYTES,
            .link_bytes_per_second = BOARD_LINK_BYTES_PER_SECOND, .network_bytes_per_second = BOARD_NETWORK_BYTES_PER_SECOND,
            .memory_bytes_per_second = BOARD_MEMORY_BYTES_PER_SECOND, .flops_per_second = BOARD_FLOPS_PER_SECOND,
        },
        .layout = {
            .name = layout_name(), .header = LAYOUT_HEADER, .tp = LAYOUT_TP, .pp = LAYOUT_PP, .dp = LAYOUT_DP, .cp = LAYOUT_CP,
            .schedule_value = LAYOUT_SCHEDULE,
            .schedule = LAYOUT_SCHEDULE == SCHEDULE_GPIPE ? ORDER_GPIPE : LAYOUT_SCHEDULE == SCHEDULE_1F1B ? ORDER_1F1B
                        : LAYOUT_SCHEDULE == SCHEDULE_ZB_H1 ? ORDER_ZB_H1
                        : LAYOUT_SCHEDULE == SCHEDULE_ZB_H2 ? ORDER_ZB_H2
                        : LAYOUT_SCHEDULE == SCHEDULE_INTERLEAVED ? ORDER_INTERLEAVED
                        : LAYOUT_SCHEDULE == SCHEDULE_ZB_V ? ORDER_ZB_V
                        : LAYOUT_SCHEDULE == SCHEDULE_TABLE ? ORDER_TABLE : ORDER_UNKNOWN,
            .chunks = LAYOUT_CHUNKS, .folded_value = LAYOUT_FOLDED, .folded = LAYOUT_FOLDED != 0, .schedule_file = schedule_file,
            .micro_batches = MICRO_BATCHES, .micro_batch_rows = MICRO_BATCH_ROWS, .sequence_tokens = SEQUENCE_TOKENS,
            .sequence_parallel = LAYOUT_SEQUENCE_PARALLEL,
            .recompute_value = LAYOUT_RECOMPUTE, .recompute_layers = LAYOUT_RECOMPUTE_LAYERS,
            .recompute = LAYOUT_RECOMPUTE == RECOMPUTE_NONE        ? AGAIN_NONE
                         : LAYOUT_RECOMPUTE == RECOMPUTE_SELECTIVE ? AGAIN_SELECTIVE
                         : LAYOUT_RECOMPUTE == RECOMPUTE_FULL      ? AGAIN_FULL
                         : LAYOUT_RECOMPUTE == RECOMPUTE_LAYERS    ? AGAIN_LAYERS
                                                                   : AGAIN_UNKNOWN,
            .zero = LAYOUT_ZERO, .bucket_layers = LAYOUT_BUCKET_LAYERS, .tp_across_link_groups = LAYOUT_TP_ACROSS_LINK_GROUPS,
        },
        .model = {
            .name = MODEL_NAME, .header = MODEL_HEADER, .hidden = MODEL_HIDDEN, .layers = MODEL_LAYERS, .heads = MODEL_HEADS,
            .kv_heads = MODEL_KV_HEADS, .head_dim = MODEL_HEAD_DIM, .intermediate = MODEL_INTERMEDIATE, .vocabulary = MODEL_VOCABULARY,
            .positions = MODEL_POSITIONS, .tied = MODEL_TIED, .qkv_bias = MODEL_QKV_BIAS, .qk_norm = MODEL_QK_NORM,
        },
        .method = METHOD_NAME, .method_header = METHOD_HEADER,
    };
    input->layout.sequence_tokens_by_make = strstr(suffix, "+seq") != NULL;
    input->layout.micro_batch_rows_by_make = strstr(suffix, "+rows") != NULL;
    input->layout.micro_batches_by_make = strstr(suffix, "+micro") != NULL;
#ifdef LAYOUT_STAGE_LAYERS
    input->layout.stage_layers = stage_layers;
    input->layout.stage_layers_count = (int32_t)ELEMENTS_OF(stage_layers);
#endif
    return hash_inputs(&input->hash);
}
