/* verify.h: proves emitted tables, from the tables and the inputs alone.
 *
 * Build host, before each link. The verifier must not repeat its maker's thoughts, so it includes nothing of tools/layoutc: what a parameter's
 * shape is, what a step reads and how long a message is, is said here a second time, on purpose.
 * (1) Proofs run in the order below; each takes for granted what those before it have shown.
 * (2) A broken table is a bug of layoutc: E_SOFTWARE, with the proof's name and the stage, rank, step, buffer or parameter concerned. */
#ifndef TOOLS_VERIFY_VERIFY_H
#define TOOLS_VERIFY_VERIFY_H

#include "src/tables.h"

/* The inputs, and src/config.h's shares of one rank. */
struct facts {
    int64_t ranks, tp, pp, dp, cp;
    int64_t zero, bucket_layers;
    int64_t micro_batches, micro_batch_rows, sequence_tokens, tokens; /* tokens: of a micro-batch */
    int64_t residual_rows; /* of them, those whose residual a rank holds */
    bool sequence_parallel;
    int64_t hidden, layers, heads, kv_heads, head_dim, intermediate, vocabulary;
    bool tied, qkv_bias, qk_norm;
    int64_t heads_local, kv_heads_local, kv_copies, qkv_columns, attention_columns, intermediate_local, vocabulary_local, logit_rows;
    int64_t real_bytes, device_memory_bytes;
};

/* What src/tables.h declares, as one value: a test hands in its own. */
struct tables {
    const struct stage *stage;   /* [pp] */
    const struct rank_row *rank; /* [ranks] */
    const struct comm_group *group;
    int32_t groups;
    const struct comm_channel *channel;
    int32_t channels;
    const int64_t *const *parameter_offset; /* [pp] -> [layers][PARAMETER_KINDS] */
    const int64_t *saved_offset, *core_offset, *kept_offset, *work_offset;
    int64_t arena_bytes, model_parameters;
};

typedef enum status proof(const struct tables *t, const struct facts *f);

proof prove_well_formed; /* indices, ranges, counts; stages hold the layers in order; ranks sit where their number says */
proof prove_covered;     /* shards cover every element of every parameter, once a replica; buckets and their order */
proof prove_groups;      /* every communicator has the members that its kind means */
proof prove_same_order;  /* all members of a group enter the same collectives in the same order, of equal size */
proof prove_matched;     /* every send meets its receive, in order; a message fits its slot */
proof prove_no_circle;   /* all ranks' programs played together come to their end, with the slots there are */
proof prove_once;        /* each micro-batch through each layer once, each gradient reduced once, and before it is used */
proof prove_written;     /* no read before the write that it means */
proof prove_no_overlap;  /* buffers that live at one time lie apart; fields too; each is as long as its step needs */
proof prove_fits;        /* every rank within its device */

struct named_proof {
    const char *name;
    proof *prove;
};
enum { PROOFS = 10 };
extern const struct named_proof proofs[PROOFS];

/* Runs all in order. Returns the first failure. */
MUST_USE enum status verify(const struct tables *tables, const struct facts *facts);

/* The chunk that holds the layers behind those of stage's chunk, on whichever stage; pp is NONE where there is none. */
struct neighbour {
    int32_t pp, chunk;
};
struct neighbour chunk_behind(const struct tables *tables, const struct facts *facts, int32_t pp, int32_t chunk);
struct neighbour chunk_before(const struct tables *tables, const struct facts *facts, int32_t pp, int32_t chunk);

/* "layer 3 backward", "send forward": words for messages. */
const char *step_name(const struct step *step);

#endif
