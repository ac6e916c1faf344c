/* config.h: the only includer of boards/ and layouts/. Derives what follows from their constants and asserts how they relate.
 *
 * The make file names the four headers: BOARD_HEADER, LAYOUT_HEADER, MODEL_HEADER, METHOD_HEADER. `make SEQ= ROWS= MICRO=` override three
 * of the layout's constants; the image's name then says so. tools/layoutc says the same as the asserts below first, with the values. */
#ifndef SRC_CONFIG_H
#define SRC_CONFIG_H

#include <stdint.h>

/* Names that the headers use as values. */
#define SCHEDULE_GPIPE 1
#define SCHEDULE_1F1B  2
#define SCHEDULE_ZB_H1 3
#define SCHEDULE_ZB_H2 4
#define SCHEDULE_TABLE 5     /* as LAYOUT_SCHEDULE_FILE says */
#define SCHEDULE_INTERLEAVED 6 /* 1F1B over LAYOUT_CHUNKS chunks of layers a stage */
#define SCHEDULE_ZB_V 7      /* two chunks a stage, the first and the last of them on stage 0 */
#define RECOMPUTE_NONE      1     /* what a layer's backward pass needs is kept from its forward pass */
#define RECOMPUTE_SELECTIVE 2     /* but for the result of attention itself, computed again (Korthikanti et al. 2022, section 5) */
#define RECOMPUTE_FULL      3     /* only the layer's input is kept */
#define RECOMPUTE_LAYERS    4     /* as RECOMPUTE_FULL in the first LAYOUT_RECOMPUTE_LAYERS layers of a stage, else as RECOMPUTE_NONE */

#include BOARD_HEADER
#include LAYOUT_HEADER
#include MODEL_HEADER
#include METHOD_HEADER

#ifdef SEQ
#define SEQUENCE_TOKENS SEQ
#else
#define SEQUENCE_TOKENS LAYOUT_SEQUENCE_TOKENS
#endif
#ifdef ROWS
#define MICRO_BATCH_ROWS ROWS
#else
#define MICRO_BATCH_ROWS LAYOUT_MICRO_BATCH_ROWS
#endif
#ifdef MICRO
#define MICRO_BATCHES MICRO
#else
#define MICRO_BATCHES LAYOUT_MICRO_BATCHES
#endif

#ifndef LAYOUT_BUCKET_LAYERS
#define LAYOUT_BUCKET_LAYERS 1
#endif
#ifndef LAYOUT_CHUNKS
#define LAYOUT_CHUNKS (LAYOUT_SCHEDULE == SCHEDULE_INTERLEAVED || LAYOUT_SCHEDULE == SCHEDULE_ZB_V ? 2 : 1)
#endif
#ifndef LAYOUT_FOLDED
#define LAYOUT_FOLDED (LAYOUT_SCHEDULE == SCHEDULE_ZB_V)
#endif
#ifndef LAYOUT_SEQUENCE_PARALLEL
#define LAYOUT_SEQUENCE_PARALLEL 1
#endif
#ifndef LAYOUT_RECOMPUTE
#define LAYOUT_RECOMPUTE RECOMPUTE_NONE
#endif
#ifndef LAYOUT_RECOMPUTE_LAYERS
#define LAYOUT_RECOMPUTE_LAYERS 0
#endif

#define TP LAYOUT_TP
#define PP LAYOUT_PP
#define DP LAYOUT_DP
#define CP LAYOUT_CP
#define ZERO LAYOUT_ZERO       /* what is cut over DP: 1 optimizer state, 2 and gradients, 3 and parameters */
#define RANKS (TP * PP * DP * CP)

#define MICRO_BATCH_TOKENS   ((int64_t)MICRO_BATCH_ROWS * SEQUENCE_TOKENS)                 /* of one rank */
/* Between the tensor-parallel regions each TP rank holds its own rows of the micro-batch (Korthikanti et al. 2022, section 4.2.2). */
#define SEQUENCE_PARALLEL    (LAYOUT_SEQUENCE_PARALLEL && TP > 1)
#define RESIDUAL_ROWS        (SEQUENCE_PARALLEL ? MICRO_BATCH_TOKENS / TP : MICRO_BATCH_TOKENS)
#define GLOBAL_BATCH_ROWS    ((int64_t)DP * MICRO_BATCHES * MICRO_BATCH_ROWS)
#define GLOBAL_BATCH_TOKENS  (GLOBAL_BATCH_ROWS * SEQUENCE_TOKENS)

#define REAL_BYTES           BOARD_REAL_BYTES                                              /* of a parameter and of an activation */

/* Shares of one rank under tensor parallelism. KV heads are held by several ranks where TP exceeds them. */
#define HEADS_LOCAL          (MODEL_HEADS / TP)
#define KV_COPIES            (TP > MODEL_KV_HEADS ? TP / MODEL_KV_HEADS : 1)
#define KV_HEADS_LOCAL       (MODEL_KV_HEADS * KV_COPIES / TP)
#define QKV_COLUMNS_LOCAL    ((HEADS_LOCAL + 2 * KV_HEADS_LOCAL) * MODEL_HEAD_DIM)
#define ATTENTION_COLUMNS_LOCAL (HEADS_LOCAL * MODEL_HEAD_DIM)
#define ATTENTION_SCALE      (1.0f / __builtin_sqrtf(MODEL_HEAD_DIM))
#define INTERMEDIATE_LOCAL   (MODEL_INTERMEDIATE / TP)
#define VOCABULARY_LOCAL     ((MODEL_VOCABULARY + TP - 1) / TP)                            /* padded: TP of them are >= vocabulary */
#define LOGIT_ROWS           (MICRO_BATCH_TOKENS < 512 ? (MICRO_BATCH_TOKENS + 1) / 2 : 256)   /* rows of logits that exist at one time: never all */

#ifndef CONFIG_FACTS_ONLY      /* tools/layoutc takes the constants only, and says what is wrong with them in its own words */
_Static_assert(TP >= 1 && PP >= 1 && DP >= 1 && CP == 1, "LAYOUT_TP, LAYOUT_PP, LAYOUT_DP are at least 1, LAYOUT_CP is 1");
_Static_assert(RANKS == BOARD_NODES * BOARD_DEVICES_PER_NODE, "layout and board differ in devices");
_Static_assert(MODEL_HEADS % TP == 0, "LAYOUT_TP does not divide MODEL_HEADS");
_Static_assert(MODEL_HEADS % MODEL_KV_HEADS == 0, "MODEL_KV_HEADS does not divide MODEL_HEADS");
_Static_assert(TP % MODEL_KV_HEADS == 0 || MODEL_KV_HEADS % TP == 0, "neither of LAYOUT_TP and MODEL_KV_HEADS divides the other");
_Static_assert(RESIDUAL_ROWS * (SEQUENCE_PARALLEL ? TP : 1) == MICRO_BATCH_TOKENS, "LAYOUT_TP does not divide a micro-batch's tokens");
_Static_assert(MODEL_INTERMEDIATE % TP == 0, "LAYOUT_TP does not divide MODEL_INTERMEDIATE");
_Static_assert(MODEL_LAYERS >= PP * LAYOUT_CHUNKS, "more stages and chunks than layers");
_Static_assert(MODEL_HEAD_DIM % 2 == 0, "MODEL_HEAD_DIM is odd: rotary positions need pairs");
_Static_assert(SEQUENCE_TOKENS <= MODEL_POSITIONS, "LAYOUT_SEQUENCE_TOKENS exceeds MODEL_POSITIONS");
_Static_assert(MICRO_BATCHES >= 1 && MICRO_BATCH_ROWS >= 1 && SEQUENCE_TOKENS >= 1, "empty batch");
#endif

#endif
