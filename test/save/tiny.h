/* tiny.h: board, layout, model and method of checkpoint_test.c in one: two tensor parallel ranks on each of two stages, two replicas, a model of
 * two layers that is just large enough to be cut, with a vocabulary that two ranks do not divide. */
#ifndef TEST_SAVE_TINY_H
#define TEST_SAVE_TINY_H

#define BOARD_NODES 1
#define BOARD_DEVICES_PER_NODE 8
#define BOARD_FLOPS_PER_SECOND 1000000000LL
#define BOARD_DEVICE_MEMORY_BYTES (1LL << 30)
#define LAYOUT_TP 2
#define LAYOUT_PP 2
#define LAYOUT_DP 2
#define LAYOUT_CP 1
#define LAYOUT_SCHEDULE SCHEDULE_1F1B
#define LAYOUT_MICRO_BATCHES 1
#define LAYOUT_MICRO_BATCH_ROWS 1
#define LAYOUT_SEQUENCE_TOKENS 8
#define MODEL_LAYERS 2
#define MODEL_HIDDEN 6
#define MODEL_HEADS 2
#define MODEL_KV_HEADS 1
#define MODEL_HEAD_DIM 2
#define MODEL_INTERMEDIATE 4
#define MODEL_VOCABULARY 7
#define MODEL_POSITIONS 64

#endif
