/* required.h: the constants that layoutc needs of the four headers; one that is missing stops the compiler with its name.
 *
 * Included by input.c behind src/config.h. */
#ifndef TOOLS_LAYOUTC_REQUIRED_H
#define TOOLS_LAYOUTC_REQUIRED_H

#ifndef BOARD_NAME
#error "the board's header lacks BOARD_NAME"
#endif
#ifndef BOARD_NODES
#error "the board's header lacks BOARD_NODES"
#endif
#ifndef BOARD_DEVICES_PER_NODE
#error "the board's header lacks BOARD_DEVICES_PER_NODE"
#endif
#ifndef BOARD_DEVICE_MEMORY_BYTES
#error "the board's header lacks BOARD_DEVICE_MEMORY_BYTES"
#endif
#ifndef BOARD_LINK_GROUP_DEVICES
#error "the board's header lacks BOARD_LINK_GROUP_DEVICES"
#endif
#ifndef BOARD_LINK_BYTES_PER_SECOND
#error "the board's header lacks BOARD_LINK_BYTES_PER_SECOND"
#endif
#ifndef BOARD_MEMORY_BYTES_PER_SECOND
#error "the board's header lacks BOARD_MEMORY_BYTES_PER_SECOND"
#endif
#ifndef BOARD_FLOPS_PER_SECOND
#error "the board's header lacks BOARD_FLOPS_PER_SECOND"
#endif
#ifndef BOARD_NETWORK_BYTES_PER_SECOND
#error "the board's header lacks BOARD_NETWORK_BYTES_PER_SECOND"
#endif
#ifndef BOARD_REAL_BYTES
#error "the board's header lacks BOARD_REAL_BYTES"
#endif
#ifndef LAYOUT_TP
#error "the layout's header lacks LAYOUT_TP"
#endif
#ifndef LAYOUT_PP
#error "the layout's header lacks LAYOUT_PP"
#endif
#ifndef LAYOUT_DP
#error "the layout's header lacks LAYOUT_DP"
#endif
#ifndef LAYOUT_CP
#error "the layout's header lacks LAYOUT_CP"
#endif
#ifndef LAYOUT_SCHEDULE
#error "the layout's header lacks LAYOUT_SCHEDULE"
#endif
#ifndef LAYOUT_MICRO_BATCHES
#error "the layout's header lacks LAYOUT_MICRO_BATCHES"
#endif
#ifndef LAYOUT_MICRO_BATCH_ROWS
#error "the layout's header lacks LAYOUT_MICRO_BATCH_ROWS"
#endif
#ifndef LAYOUT_SEQUENCE_TOKENS
#error "the layout's header lacks LAYOUT_SEQUENCE_TOKENS"
#endif
#ifndef LAYOUT_ZERO
#error "the layout's header lacks LAYOUT_ZERO"
#endif
#ifndef LAYOUT_TP_ACROSS_LINK_GROUPS
#error "the layout's header lacks LAYOUT_TP_ACROSS_LINK_GROUPS"
#endif
#ifndef MODEL_NAME
#error "the model's header lacks MODEL_NAME"
#endif
#ifndef MODEL_HIDDEN
#error "the model's header lacks MODEL_HIDDEN"
#endif
#ifndef MODEL_LAYERS
#error "the model's header lacks MODEL_LAYERS"
#endif
#ifndef MODEL_HEADS
#error "the model's header lacks MODEL_HEADS"
#endif
#ifndef MODEL_KV_HEADS
#error "the model's header lacks MODEL_KV_HEADS"
#endif
#ifndef MODEL_HEAD_DIM
#error "the model's header lacks MODEL_HEAD_DIM"
#endif
#ifndef MODEL_INTERMEDIATE
#error "the model's header lacks MODEL_INTERMEDIATE"
#endif
#ifndef MODEL_VOCABULARY
#error "the model's header lacks MODEL_VOCABULARY"
#endif
#ifndef MODEL_POSITIONS
#error "the model's header lacks MODEL_POSITIONS"
#endif
#ifndef MODEL_TIED
#error "the model's header lacks MODEL_TIED"
#endif
#ifndef MODEL_QKV_BIAS
#error "the model's header lacks MODEL_QKV_BIAS"
#endif
#ifndef MODEL_QK_NORM
#error "the model's header lacks MODEL_QK_NORM"
#endif
#ifndef METHOD_NAME
#error "the method's header lacks METHOD_NAME"
#endif

#endif
