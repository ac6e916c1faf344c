/* facts.c: see facts.h. Build host. The one file of this folder that is compiled for each image. */
#include "src/config.h"

#include "tools/verify/facts.h"

struct facts facts_of_image(void)
{
    return (struct facts){
        .ranks = RANKS,
        .tp = TP,
        .pp = PP,
        .dp = DP,
        .cp = CP,
        .zero = ZERO,
        .bucket_layers = LAYOUT_BUCKET_LAYERS,
        .micro_batches = MICRO_BATCHES,
        .micro_batch_rows = MICRO_BATCH_ROWS,
        .sequence_tokens = SEQUENCE_TOKENS,
        .tokens = MICRO_BATCH_TOKENS,
        .residual_rows = RESIDUAL_ROWS,
        .sequence_parallel = SEQUENCE_PARALLEL,
        .hidden = MODEL_HIDDEN,
        .layers = MODEL_LAYERS,
        .heads = MODEL_HEADS,
        .kv_heads = MODEL_KV_HEADS,
        .head_dim = MODEL_HEAD_DIM,
        .intermediate = MODEL_INTERMEDIATE,
        .vocabulary = MODEL_VOCABULARY,
        .tied = MODEL_TIED,
        .qkv_bias = MODEL_QKV_BIAS,
        .qk_norm = MODEL_QK_NORM,
        .heads_local = HEADS_LOCAL,
        .kv_heads_local = KV_HEADS_LOCAL,
        .kv_copies = KV_COPIES,
        .qkv_columns = QKV_COLUMNS_LOCAL,
        .attention_columns = ATTENTION_COLUMNS_LOCAL,
        .intermediate_local = INTERMEDIATE_LOCAL,
        .vocabulary_local = VOCABULARY_LOCAL,
        .logit_rows = LOGIT_ROWS,
        .real_bytes = REAL_BYTES,
        .device_memory_bytes = BOARD_DEVICE_MEMORY_BYTES,
    };
}
