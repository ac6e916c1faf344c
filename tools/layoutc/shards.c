/* shards.c: see shards.h. Build host.
 *
 * (1) Buckets of a stage, in this order and each where it has it: the embedding; runs of LAYOUT_BUCKET_LAYERS layers of a chunk; the head with the
 *     final norm (src/tables.h, rule 1).
 * (2) Products that are taken at once (q with k and v, their biases, gate with up) lie without a gap; every such run starts at a multiple of 64
 *     elements from its bucket's start, for vector loads. */
#include "tools/layoutc/shards.h"

#include "tools/layoutc/chunks.h"

enum { SHARDS_A_LAYER_MOST = 14, SHARDS_OUTSIDE_MOST = 3 };

/* ---- a stage's flat buffer ---- */

struct builder {
    struct draft *draft;
    int32_t pp;
    struct shard *shard;
    struct bucket *bucket;
    int32_t shards, buckets;
    int64_t end; /* elements used so far */
};

static void begin_bucket(struct builder *b, const char *name)
{
    ASSERT(b->end % BUCKET_ALIGN_ELEMENTS == 0);
    b->bucket[b->buckets] = (struct bucket){ .name = name, .offset = b->end, .first_shard = b->shards };
}

static void end_bucket(struct builder *b)
{
    struct bucket *bucket = &b->bucket[b->buckets++];
    bucket->elements = round_up(b->end - bucket->offset, BUCKET_ALIGN_ELEMENTS * b->draft->input->layout.dp);
    bucket->shards = b->shards - bucket->first_shard;
    b->end = bucket->offset + bucket->elements;
}

/* Starts a run of parameters that lie without a gap. */
static void begin_run(struct builder *b)
{
    b->end = round_up(b->end, BUCKET_ALIGN_ELEMENTS);
}

static void put(struct builder *b, struct shard shard)
{
    bool copy = shard.parameter == PARAMETER_HEAD && !shard.counts;
    ASSERT(shard.local_rows > 0 && shard.local_columns > 0 && shard.copies > 0);
    shard.offset = b->end;
    b->end += shard.local_rows * shard.local_columns;
    int32_t row = shard.layer == NONE ? 0 : layer_row(&b->draft->stage[b->pp], shard.layer);
    b->draft->parameter_offset[b->pp][row * PARAMETER_KINDS + shard.parameter] = shard.offset;
    if (!copy)
        b->draft->parameters += shard.rows * shard.columns;
    b->shard[b->shards++] = shard;
}

static const char *name_of(struct builder *b, int32_t layer, const char *tail)
{
    return layer == NONE ? tail : blocks_text(&b->draft->blocks, "model.layers.%d.%s", (int)layer, tail);
}

/* A matrix or bias whose rows (outputs) are dealt out over TP; local rows of one rank, held by `copies` neighbours. */
static void put_rows(struct builder *b, enum parameter parameter, int32_t layer, const char *tail, int64_t rows, int64_t columns,
                     int64_t local_rows, int64_t copies)
{
    put(b, (struct shard){
               .name = name_of(b, layer, tail),
               .parameter = parameter,
               .layer = layer,
               .rows = rows,
               .columns = columns,
               .cut = CUT_ROWS,
               .copies = (int32_t)copies,
               .local_rows = local_rows,
               .local_columns = columns,
               .decays = columns > 1,
               .copies_sum = copies > 1 ? COPIES_SUM_KV : COPIES_EQUAL,
               .counts = true,
           });
}

static void put_columns(struct builder *b, enum parameter parameter, int32_t layer, const char *tail, int64_t rows, int64_t columns,
                        int64_t local_columns)
{
    put(b, (struct shard){
               .name = name_of(b, layer, tail),
               .parameter = parameter,
               .layer = layer,
               .rows = rows,
               .columns = columns,
               .cut = CUT_COLUMNS,
               .copies = 1,
               .local_rows = rows,
               .local_columns = local_columns,
               .decays = true,
               .copies_sum = COPIES_EQUAL,
               .counts = true,
           });
}

static void put_norm(struct builder *b, enum parameter parameter, int32_t layer, const char *tail, int64_t rows, enum copies_sum sum)
{
    int64_t tp = b->draft->input->layout.tp;
    begin_run(b);
    put(b, (struct shard){
               .name = name_of(b, layer, tail),
               .parameter = parameter,
               .layer = layer,
               .rows = rows,
               .columns = 1,
               .cut = CUT_NONE,
               .copies = (int32_t)tp,
               .local_rows = rows,
               .local_columns = 1,
               .decays = false,
               .copies_sum = tp > 1 ? sum : COPIES_EQUAL,
               .counts = true,
           });
}

/* With sequence parallelism each rank's gradient of a norm comes from its own rows. */
static enum copies_sum norm_sum(const struct share *s)
{
    return s->sequence_parallel ? COPIES_SUM_TP : COPIES_EQUAL;
}

static void put_layer(struct builder *b, int32_t layer)
{
    const struct model_input *m = &b->draft->input->model;
    const struct share *s = &b->draft->share;
    enum copies_sum norms = norm_sum(s);
    int64_t c = m->hidden, d = m->head_dim, q = m->heads * d, kv = m->kv_heads * d, q_local = s->heads * d, kv_local = s->kv_heads * d;
    put_norm(b, PARAMETER_ATTENTION_NORM, layer, "input_layernorm.weight", c, norms);
    begin_run(b);
    put_rows(b, PARAMETER_Q, layer, "self_attn.q_proj.weight", q, c, q_local, 1);
    put_rows(b, PARAMETER_K, layer, "self_attn.k_proj.weight", kv, c, kv_local, s->kv_copies);
    put_rows(b, PARAMETER_V, layer, "self_attn.v_proj.weight", kv, c, kv_local, s->kv_copies);
    if (m->qkv_bias) {
        begin_run(b);
        put_rows(b, PARAMETER_Q_BIAS, layer, "self_attn.q_proj.bias", q, 1, q_local, 1);
        put_rows(b, PARAMETER_K_BIAS, layer, "self_attn.k_proj.bias", kv, 1, kv_local, s->kv_copies);
        put_rows(b, PARAMETER_V_BIAS, layer, "self_attn.v_proj.bias", kv, 1, kv_local, s->kv_copies);
    }
    if (m->qk_norm) { /* each rank's gradient comes from its own heads */
        put_norm(b, PARAMETER_Q_NORM, layer, "self_attn.q_norm.weight", d, COPIES_SUM_TP);
        put_norm(b, PARAMETER_K_NORM, layer, "self_attn.k_norm.weight", d, COPIES_SUM_TP);
    }
    begin_run(b);
    put_columns(b, PARAMETER_O, layer, "self_attn.o_proj.weight", c, q, q_local);
    put_norm(b, PARAMETER_MLP_NORM, layer, "post_attention_layernorm.weight", c, norms);
    begin_run(b);
    put_rows(b, PARAMETER_GATE, layer, "mlp.gate_proj.weight", m->intermediate, c, s->intermediate, 1);
    put_rows(b, PARAMETER_UP, layer, "mlp.up_proj.weight", m->intermediate, c, s->intermediate, 1);
    begin_run(b);
    put_columns(b, PARAMETER_DOWN, layer, "mlp.down_proj.weight", c, m->intermediate, s->intermediate);
}

static void put_layers(struct builder *b, int32_t first, int32_t layers)
{
    struct blocks *blocks = &b->draft->blocks;
    begin_bucket(b, layers == 1 ? blocks_text(blocks, "layer %d", (int)first) : blocks_text(blocks, "layers %d to %d", (int)first, (int)(first + layers - 1)));
    for (int32_t i = 0; i < layers; i++)
        put_layer(b, first + i);
    end_bucket(b);
}

static void put_final_norm(struct builder *b)
{
    put_norm(b, PARAMETER_FINAL_NORM, NONE, "model.norm.weight", b->draft->input->model.hidden, norm_sum(&b->draft->share));
}

static void put_embedding(struct builder *b)
{
    const struct model_input *m = &b->draft->input->model;
    bool apart = m->tied && !b->draft->stage[b->pp].heads;
    begin_bucket(b, "embedding");
    put_rows(b, PARAMETER_EMBEDDING, NONE, "model.embed_tokens.weight", m->vocabulary, m->hidden, b->draft->share.vocabulary, 1);
    if (m->tied && !apart)
        put_final_norm(b);
    begin_run(b);
    if (apart)
        b->end += round_up(m->hidden, BUCKET_ALIGN_ELEMENTS); /* as long as the head's bucket, which holds the final norm */
    end_bucket(b);
}

/* A tied head on the embedding's own stage reads the embedding and has no bucket; on another stage it is a second copy of it. */
static void put_head(struct builder *b)
{
    const struct model_input *m = &b->draft->input->model;
    begin_bucket(b, "head");
    put(b, (struct shard){
               .name = m->tied ? "model.embed_tokens.weight" : "lm_head.weight",
               .parameter = PARAMETER_HEAD,
               .layer = NONE,
               .rows = m->vocabulary,
               .columns = m->hidden,
               .cut = CUT_ROWS,
               .copies = 1,
               .local_rows = b->draft->share.vocabulary,
               .local_columns = m->hidden,
               .decays = true,
               .copies_sum = COPIES_EQUAL,
               .counts = !m->tied,
           });
    put_final_norm(b);
    begin_run(b);
    end_bucket(b);
}

/* How much of the flat buffers a rank holds (src/tables.h, rule 6). */
static void hold_slices(const struct draft *draft, struct stage *stage)
{
    const struct layout_input *l = &draft->input->layout;
    int64_t all = stage->parameter_elements, slices = all / l->dp;
    bool own_head_gradient = draft->input->model.tied && stage->embeds && stage->heads;
    stage->state_elements = l->zero >= 1 ? slices : all;
    stage->held_elements = l->zero >= 3 ? slices : all;
    stage->gradient_elements = l->zero >= 2 ? slices : all;
    stage->head_gradient = own_head_gradient ? stage->gradient_elements : NONE;
    if (own_head_gradient)
        stage->gradient_elements += l->zero >= 2 ? stage->bucket[0].elements / l->dp : draft->share.vocabulary * draft->input->model.hidden;
}

static void make_stage(struct draft *draft, int32_t pp)
{
    struct stage *stage = &draft->stage[pp];
    int64_t shards_most = (int64_t)stage->layers * SHARDS_A_LAYER_MOST + SHARDS_OUTSIDE_MOST;
    int64_t offsets = (int64_t)stage->layers * PARAMETER_KINDS;
    struct builder b = {
        .draft = draft,
        .pp = pp,
        .shard = blocks_take(&draft->blocks, shards_most, sizeof *b.shard),
        .bucket = blocks_take(&draft->blocks, stage->layers + 2, sizeof *b.bucket),
    };
    int32_t most = (int32_t)draft->input->layout.bucket_layers;
    draft->parameter_offset[pp] = blocks_take(&draft->blocks, offsets, sizeof(int64_t));
    for (int64_t i = 0; i < offsets; i++)
        draft->parameter_offset[pp][i] = NONE;
    if (stage->embeds)
        put_embedding(&b);
    for (int32_t c = 0; c < stage->chunks; c++)
        for (int32_t i = 0; i < stage->chunk[c].layers; i += most) {
            int32_t left = stage->chunk[c].layers - i;
            put_layers(&b, stage->chunk[c].first_layer + i, left < most ? left : most);
        }
    if (stage->heads && !(draft->input->model.tied && stage->embeds))
        put_head(&b);
    ASSERT(b.shards <= shards_most && b.buckets <= stage->layers + 2);
    stage->shard = b.shard;
    stage->shards = b.shards;
    stage->bucket = b.bucket;
    stage->buckets = b.buckets;
    stage->parameter_elements = b.end;
    hold_slices(draft, stage);
}

void shards_make(struct draft *draft)
{
    int32_t pp = (int32_t)draft->input->layout.pp;
    draft->buffer = blocks_take(&draft->blocks, pp, sizeof *draft->buffer);
    draft->parameter_offset = blocks_take(&draft->blocks, pp, sizeof *draft->parameter_offset);
    for (int32_t s = 0; s < pp; s++)
        make_stage(draft, s);
}
