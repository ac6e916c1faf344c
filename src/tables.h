/* tables.h: the contract between tools/layoutc, which writes these tables, and the image, which plays them.
 *
 * All tables are const. Offsets in the arena are bytes; offsets in the flat parameter buffer are elements, so that one number serves
 * parameters and gradients (and, divided by DP, moments).
 * (1) The flat parameters of a stage are a row of buckets. A bucket starts at a multiple of 64 elements, its size is a multiple of
 *     64 * DP, and each DP rank owns one contiguous 1/DP of it, its slice. Buckets: embedding; runs of layers; head with final norm. A tied head
 *     on the embedding's stage is no copy, and the final norm lies in the embedding's bucket; on another stage both buckets have one size, so that
 *     slices of the two gradients meet.
 * (2) Within a layer q, k, v (and their biases; and gate, up) follow each other without a gap, so that each is one matrix product.
 * (3) Tied embeddings on one stage: the head reads the embedding's rows, but its gradient has a place of its own behind the other gradients
 *     (head_gradient), and STEP_TIED adds it: so the order of additions is that of two stages.
 * (6) What a rank holds of the flat buffers (Rajbhandari et al. 2020, section 5): moments: its slices, with ZeRO 0 all; gradients: all, from ZeRO 2
 *     on its slices; parameters: all, with ZeRO 3 its slices. Slices lie bucket by bucket, at the bucket's offset / DP. What a rank holds slices of
 *     is whole for a while in BUFFER_BUCKET, BUFFER_BUCKET_GRADIENT and BUFFER_HEAD_GRADIENT, laid out as the bucket is.
 * (4) Steps run in order on their rank. Every rank of a stage plays the stage's program.
 * (5) A stage holds one chunk of consecutive layers or several; its layers are numbered chunk by chunk (layer_row). A chunk that begins where the
 *     stage's chunk before it ends takes over its output, and hands back its gradient, in the same buffer: nothing is sent. */
#ifndef SRC_TABLES_H
#define SRC_TABLES_H

#include "platform/comm.h"

enum { NONE = -1, CHUNKS_MOST = 8 /* of one stage */ };

/* ---- where a rank sits ---- */

enum group_kind { GROUP_WORLD, GROUP_TP, GROUP_DP, GROUP_TIED, GROUP_KV_COPIES, GROUP_KINDS };
enum direction { CHANNEL_FORWARD_IN, CHANNEL_FORWARD_OUT, CHANNEL_BACKWARD_IN, CHANNEL_BACKWARD_OUT, CHANNEL_DIRECTIONS };

struct rank_row {
    int16_t pp, dp, cp, tp;               /* rank = ((pp*DP + dp)*CP + cp)*TP + tp */
    int32_t group[GROUP_KINDS];           /* index into groups; NONE where the rank has no such group */
    int32_t channel[CHUNKS_MOST][CHANNEL_DIRECTIONS]; /* of the stage's chunks: index into channels; NONE where nothing is sent */
};

/* ---- parameters ---- */

enum parameter {
    PARAMETER_EMBEDDING,
    PARAMETER_ATTENTION_NORM, PARAMETER_Q, PARAMETER_K, PARAMETER_V, PARAMETER_Q_BIAS, PARAMETER_K_BIAS, PARAMETER_V_BIAS,
    PARAMETER_Q_NORM, PARAMETER_K_NORM, PARAMETER_O, PARAMETER_MLP_NORM, PARAMETER_GATE, PARAMETER_UP, PARAMETER_DOWN,
    PARAMETER_FINAL_NORM, PARAMETER_HEAD,
    PARAMETER_KINDS
};
enum cut { CUT_NONE, CUT_ROWS, CUT_COLUMNS };
/* What the TP ranks do with the gradient of a parameter that several of them hold: nothing, because each computed the same bits; or sum it
 * over the group of that kind, because each saw a part. */
enum copies_sum { COPIES_EQUAL, COPIES_SUM_TP, COPIES_SUM_KV };

struct shard {
    const char *name;                     /* Hugging Face */
    enum parameter parameter;
    int32_t layer;                        /* global; NONE outside layers */
    int64_t rows, columns;                /* global; a vector is rows x 1 */
    enum cut cut;
    int32_t copies;                       /* consecutive TP ranks that hold the same piece; TP where nothing is cut */
    int64_t local_rows, local_columns;    /* the piece (tp / copies) starts at piece * local_rows (or columns); rows past the end are padding */
    int64_t offset;                       /* elements in the flat parameter buffer */
    bool decays;                          /* weight decay */
    enum copies_sum copies_sum;
    bool counts;                          /* in the gradient norm of this stage; false for the second copy of a tied embedding */
};

struct bucket {
    const char *name;                     /* "embedding", "layer 3", "layers 4 to 7", "head" */
    int64_t offset, elements;             /* in the flat parameter buffer */
    int32_t first_shard, shards;
};

/* ---- buffers ---- */

enum buffer_kind {
    BUFFER_PARAMETERS, BUFFER_GRADIENTS, BUFFER_MOMENT_1, BUFFER_MOMENT_2,  /* whole program */
    BUFFER_MASTER,                        /* fp32 copy of the own slices where parameters are shorter; whole program */
    BUFFER_ROPE,                          /* [T, D/2, 2] fp32; whole program */
    BUFFER_SLOTS,                         /* comm: messages that came in */
    BUFFER_STAGING,                       /* save: what a checkpoint copies out of the run; whole program */
    BUFFER_BATCH,                         /* micro: int32 token, target, start, position [4][B,T], then float loss, hit [2][B,T] */
    BUFFER_RESIDUAL,                      /* micro, layer: input of the layer [R,C]; layer = last + 1: output of the stage */
    BUFFER_SAVED,                         /* micro, layer: what its backward pass needs: enum saved_field */
    BUFFER_CORE,                          /* micro, layer: the same, of attention itself: enum core_field */
    BUFFER_KEPT,                          /* micro, layer: what STEP_LAYER_INPUT leaves for STEP_LAYER_WEIGHT: enum kept_field */
    BUFFER_RESIDUAL_GRADIENT,             /* micro: [R,C], from the stage's end to its start */
    BUFFER_BUCKET,                        /* bucket: all its parameters (ZeRO 3) */
    BUFFER_BUCKET_GRADIENT,               /* micro, bucket: fp32 gradients of one micro-batch (ZeRO 2, 3) */
    BUFFER_HEAD_GRADIENT,                 /* micro, bucket: the same of head and final norm, of a tied head on the embedding's stage */
    BUFFER_WORK,                          /* scratch of one step */
    BUFFER_KINDS
};
struct buffer {
    enum buffer_kind kind;
    int16_t micro, layer, bucket;         /* NONE where it does not apply */
    int32_t first_step, last_step;        /* of the program that uses it; 0 and INT32_MAX for the whole program */
    int64_t offset_bytes, bytes;          /* in the arena */
};

/* N: a micro-batch's tokens; R: those whose residual this rank holds, N / TP with sequence parallelism (row tp * R on), else N.
 * Parts of BUFFER_SAVED, BUFFER_CORE, BUFFER_KEPT and BUFFER_WORK: byte offsets from the buffer's start, the same in every layer; NONE if the model has none. */
enum saved_field {
    SAVED_RSTD_ATTENTION,                 /* [R] */
    SAVED_QKV,                            /* [N, QKV_COLUMNS_LOCAL] after norm and rotation */
    SAVED_QK_RAW,                         /* [N, (H+K)*D] before QK-norm */
    SAVED_QK_RSTD,                        /* [N, H+K] */
    SAVED_RESIDUAL_MIDDLE,                /* [R,C] after attention */
    SAVED_RSTD_MLP,                       /* [R] */
    SAVED_GATE_UP,                        /* [N, 2F] */
    SAVED_FIELDS
};
enum core_field {
    CORE_ATTENTION,                       /* [N, H*D] */
    CORE_LSE,                             /* [B,H,T] */
    CORE_FIELDS
};
enum kept_field {
    KEPT_OUT_GRADIENT,                    /* [N,C] gradient of the layer's output, all rows */
    KEPT_MIDDLE_GRADIENT,                 /* [N,C] of its middle, all rows */
    KEPT_GATE_UP_GRADIENT,                /* [N,2F] */
    KEPT_QKV_GRADIENT,                    /* [N, QKV_COLUMNS_LOCAL] */
    KEPT_FIELDS
};
enum work_field {
    WORK_NORMED,                          /* [N,C] */
    WORK_PARTIAL,                         /* [N,C] product before the TP sum; in backward the gradient of WORK_NORMED */
    WORK_GATHERED,                        /* [N,C] a residual gradient of all TP ranks' rows; NONE without sequence parallelism */
    WORK_ACTIVATED,                       /* [N,F] swiglu, and its gradient */
    WORK_GATE_UP_GRADIENT,                /* [N,2F] */
    WORK_ATTENTION_GRADIENT,              /* [N, H*D] */
    WORK_QKV_GRADIENT,                    /* [N, QKV_COLUMNS_LOCAL] */
    WORK_DELTA,                           /* [B,H,T] */
    WORK_RSTD,                            /* [R] final norm */
    WORK_LOGITS,                          /* [LOGIT_ROWS, VOCABULARY_LOCAL] fp32 */
    WORK_LOGIT_STATISTICS,                /* [3, LOGIT_ROWS] fp32: max, sum, picked */
    WORK_FIELDS
};

/* ---- programs ---- */

enum step_kind {
    STEP_FEED,                /* micro: fill BUFFER_BATCH */
    STEP_EMBED,               /* micro: tokens -> out residual; work with sequence parallelism */
    STEP_RECEIVE_FORWARD,     /* micro: out residual */
    STEP_LAYER,               /* micro, layer: in residual -> out residual, saved, core */
    STEP_SEND_FORWARD,        /* micro: in residual */
    STEP_HEAD,                /* micro: in residual -> out residual gradient; losses; gradients of final norm and head */
    STEP_HEAD_EVALUATE,       /* micro: in residual -> losses */
    STEP_RECEIVE_BACKWARD,    /* micro: out residual gradient */
    STEP_LAYER_AGAIN,         /* micro, layer: in residual -> saved, core, as STEP_LAYER left them */
    STEP_CORE_AGAIN,          /* micro, layer: saved -> core, as STEP_LAYER left it */
    STEP_LAYER_BACKWARD,      /* micro, layer: in residual, saved, core; out residual gradient in place */
    STEP_LAYER_INPUT,         /* micro, layer: as STEP_LAYER_BACKWARD, without the gradients of its matrices -> kept */
    STEP_LAYER_WEIGHT,        /* micro, layer: in residual, saved, core, kept: the gradients of its matrices */
    STEP_SEND_BACKWARD,       /* micro: in residual gradient */
    STEP_EMBED_BACKWARD,      /* micro: in residual gradient; work with sequence parallelism */
    STEP_CLEAR,               /* bucket: gradients to zero; with micro: those of one micro-batch in gradients */
    STEP_TIED,                /* embedding's gradient (from ZeRO 2 on: its slice): sum over GROUP_TIED, or add head_gradient on one stage */
    STEP_COPIES,              /* bucket: sums of shards with copies_sum; with micro: in gradients */
    STEP_REDUCE,              /* bucket: reduce-scatter over DP, with ZeRO 0 all-reduce; with micro: of gradients, and the slice is added to the own */
    STEP_NORM,                /* sums of squares of own slices; records of all ranks; clip factor, loss */
    STEP_UPDATE,              /* bucket: AdamW on the own slice */
    STEP_GATHER,              /* bucket: all-gather of parameters over DP; with micro: into weights */
    STEP_KINDS
};
struct step {
    uint8_t kind, chunk;                  /* chunk: of micro and layer; 0 where neither applies */
    int16_t micro, layer, bucket;         /* layer is global; NONE where it does not apply */
    int32_t batch, in, out, saved, core, kept, work; /* indices into the stage's buffers; NONE. batch: every step of a micro-batch but send, receive */
    int32_t weights, gradients;           /* the same: where the step's parameters and their gradients lie; NONE: in the flat buffers */
};

struct program {
    const struct step *step;
    int32_t steps;
};

/* Consecutive layers of a stage, in the literature also a virtual stage (Narayanan et al. 2021, section 2.2.2). */
struct chunk {
    int32_t first_layer, layers;
    int32_t first_row;                    /* layers of the stage's chunks before this one */
    bool embeds, heads;                   /* holds the embedding at the start, the head at the end */
};

struct stage {
    struct chunk chunk[CHUNKS_MOST];      /* in the order of their layers */
    int32_t chunks, layers;
    bool embeds, heads;                   /* some chunk does */
    const struct shard *shard;
    int32_t shards;
    const struct bucket *bucket;
    int32_t buckets;
    const struct buffer *buffer;
    int32_t buffers;
    struct program train, evaluate;       /* evaluate: one micro-batch forward, DP x MICRO_BATCH_ROWS rows */
    int64_t parameter_elements;           /* padded, the flat buffer's length */
    int64_t head_gradient;                /* elements: where the tied head's own gradient starts in the gradient buffer; NONE */
    int64_t gradient_elements;            /* of BUFFER_GRADIENTS */
    int64_t state_elements;               /* of a moment */
    int64_t held_elements;                /* of BUFFER_PARAMETERS */
    int64_t arena_bytes;
    int64_t arena_bound_bytes;            /* the largest live set: no placement can do with less */
};

/* Where a layer (global) stands among the stage's; NONE if the stage does not hold it. */
static inline int32_t layer_row(const struct stage *stage, int32_t layer)
{
    for (int32_t c = 0; c < stage->chunks; c++)
        if (layer >= stage->chunk[c].first_layer && layer < stage->chunk[c].first_layer + stage->chunk[c].layers)
            return stage->chunk[c].first_row + layer - stage->chunk[c].first_layer;
    return NONE;
}

/* Whether the chunk begins where the stage's chunk before it ends. */
static inline bool chunk_joined(const struct stage *stage, int32_t chunk)
{
    return chunk > 0 && chunk < stage->chunks && stage->chunk[chunk - 1].first_layer + stage->chunk[chunk - 1].layers == stage->chunk[chunk].first_layer;
}

/* The first of the stage's buffers that holds all parameters of the bucket for a while; NONE below ZeRO 3. */
static inline int32_t bucket_buffer(const struct stage *stage, int32_t bucket)
{
    for (int32_t i = 0; i < stage->buffers; i++)
        if (stage->buffer[i].kind == BUFFER_BUCKET && stage->buffer[i].bucket == bucket)
            return i;
    return NONE;
}

/* Offset of a parameter in the flat buffer, by stage and layer_row (0 for those outside layers); NONE if not there. */
extern const int64_t *const parameter_offset[];        /* [PP] -> [layers][PARAMETER_KINDS] */

extern const struct stage stages[];                    /* [PP] */
extern const struct rank_row rank_rows[];              /* [RANKS] */
extern const struct comm_group groups[];
extern const int32_t groups_count;
extern const struct comm_channel channels[];
extern const int32_t channels_count;
extern const int64_t saved_offset_bytes[SAVED_FIELDS];
extern const int64_t core_offset_bytes[CORE_FIELDS];
extern const int64_t kept_offset_bytes[KEPT_FIELDS];
extern const int64_t work_offset_bytes[WORK_FIELDS];
extern const int64_t arena_bytes;                      /* of the fullest rank: what each rank reserves */
extern const int64_t model_parameters;                 /* of the whole model, each once, without padding */
extern const char image_name[];                        /* "host-x8/tp2pp2dp2/tiny-llama/full" */
extern const uint64_t image_inputs;                    /* hash over all inputs */

#endif
