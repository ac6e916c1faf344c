/* input.h: everything that layoutc is told, as run-time values.
 *
 * Only input.c knows the headers (through src/config.h) and is compiled once an image; all other files of this folder are compiled once,
 * so that a planner can call them with any number of inputs.
 * (1) Nothing here is derived: shares and sums are made by share.c and the passes. */
#ifndef TOOLS_LAYOUTC_INPUT_H
#define TOOLS_LAYOUTC_INPUT_H

#include "platform/status.h"

struct board_input {
    const char *name, *header;
    int64_t nodes, devices_per_node, link_group_devices;
    int64_t device_memory_bytes, real_bytes; /* real: parameters and activations, 4 fp32 or 2 bf16 */
    int64_t link_bytes_per_second, network_bytes_per_second, memory_bytes_per_second, flops_per_second;
};

enum recompute { AGAIN_UNKNOWN, AGAIN_NONE, AGAIN_SELECTIVE, AGAIN_FULL, AGAIN_LAYERS, AGAIN_KINDS };
enum schedule { ORDER_UNKNOWN, ORDER_GPIPE, ORDER_1F1B, ORDER_ZB_H1, ORDER_ZB_H2, ORDER_INTERLEAVED, ORDER_ZB_V, ORDER_TABLE, ORDER_KINDS };

struct layout_input {
    const char *name, *header; /* name carries the overrides: "tp2+seq64" */
    int64_t tp, pp, dp, cp;
    enum schedule schedule;
    int64_t chunks; /* of a stage */
    int64_t folded_value; /* as the header has it */
    bool folded; /* the chunks lie there and back, not over and over */
    const char *schedule_file; /* of ORDER_TABLE */
    int64_t schedule_value; /* as the header has it, for the message about an unknown one */
    int64_t micro_batches, micro_batch_rows, sequence_tokens;
    bool micro_batches_by_make, micro_batch_rows_by_make, sequence_tokens_by_make; /* make's MICRO, ROWS, SEQ */
    int64_t zero, bucket_layers;
    int64_t sequence_parallel;
    enum recompute recompute;
    int64_t recompute_value, recompute_layers; /* as the header has them */
    bool tp_across_link_groups;
    const int32_t *stage_layers; /* [stage_layers_count] by hand, one a virtual stage; NULL: balanced */
    int32_t stage_layers_count;
};

struct model_input {
    const char *name, *header;
    int64_t hidden, layers, heads, kv_heads, head_dim, intermediate, vocabulary, positions;
    bool tied, qkv_bias, qk_norm;
};

struct input {
    struct board_input board;
    struct layout_input layout;
    struct model_input model;
    const char *method, *method_header;
    uint64_t hash; /* over the four headers, the overrides and the version of the tables */
};

/* The image's input, with the headers' content hashed from the files that make named (paths from the top folder).
 * Returns OK, or E_READ if a header cannot be read. */
MUST_USE enum status input_read(struct input *input);

#endif
