/* chunks.c: see chunks.h. Build host. */
#include "tools/layoutc/chunks.h"

enum { OPERATIONS_A_PRODUCT = 2, EMBEDDING_MOVES = 3 /* a row is read and written; its gradient is added */ };

struct chunk_at chunk_at(const struct layout_input *layout, int64_t virtual_stage)
{
    int64_t chunk = virtual_stage / layout->pp, along = virtual_stage % layout->pp;
    bool back = layout->folded && chunk % 2 == 1;
    return (struct chunk_at){ .pp = (int32_t)(back ? layout->pp - 1 - along : along), .chunk = (int32_t)chunk };
}

bool chunks_end_on_one_stage(const struct layout_input *layout)
{
    return chunk_at(layout, layout->pp * layout->chunks - 1).pp == 0;
}

/* Products of a layer with its matrices, and of causal attention with half of all keys (Narayanan et al. 2021, appendix). */
struct pass_cost pass_cost_of(const struct input *input, const struct share *share)
{
    double hidden = (double)input->model.hidden, keys = (double)input->layout.sequence_tokens / 2;
    double matrices = hidden * (double)(share->qkv_columns + share->attention_columns + 3 * share->intermediate);
    double attention = 2 * keys * (double)share->attention_columns;
    double products_a_second = (double)input->board.flops_per_second / OPERATIONS_A_PRODUCT;
    return (struct pass_cost){
        .embedding = EMBEDDING_MOVES * hidden * (double)input->board.real_bytes / (double)input->board.memory_bytes_per_second,
        .layer = (matrices + attention) / products_a_second,
        .head = hidden * (double)share->vocabulary / products_a_second,
    };
}

/* A layer goes to the virtual stage that is the fastest so far, until none is left: no other deal has a faster slowest one. Of equals the later
 * takes it, since it holds fewer micro-batches at a time. */
static void deal_layers(const struct draft *draft, int32_t *layers, int64_t virtual_stages)
{
    struct pass_cost cost = pass_cost_of(draft->input, &draft->share);
    for (int64_t v = 0; v < virtual_stages; v++)
        layers[v] = 1;
    for (int64_t left = draft->input->model.layers - virtual_stages; left > 0; left--) {
        int64_t best = 0;
        double least = 0;
        for (int64_t v = 0; v < virtual_stages; v++) {
            double now = layers[v] * cost.layer + (v == 0 ? cost.embedding : 0) + (v == virtual_stages - 1 ? cost.head : 0);
            if (v == 0 || now <= least) {
                best = v;
                least = now;
            }
        }
        layers[best]++;
    }
}

void chunks_make(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    int64_t virtual_stages = l->pp * l->chunks;
    int32_t *layers = blocks_take(&draft->blocks, virtual_stages, sizeof *layers), first = 0;
    draft->stage = blocks_take(&draft->blocks, l->pp, sizeof *draft->stage);
    if (l->stage_layers == NULL)
        deal_layers(draft, layers, virtual_stages);
    for (int64_t v = 0; v < virtual_stages; v++) {
        struct chunk_at at = chunk_at(l, v);
        struct stage *stage = &draft->stage[at.pp];
        struct chunk *chunk = &stage->chunk[at.chunk];
        *chunk = (struct chunk){ .first_layer = first,
                                 .layers = l->stage_layers != NULL ? l->stage_layers[v] : layers[v],
                                 .first_row = stage->layers,
                                 .embeds = v == 0,
                                 .heads = v == virtual_stages - 1 };
        stage->chunks++;
        stage->layers += chunk->layers;
        stage->embeds |= chunk->embeds;
        stage->heads |= chunk->heads;
        first += chunk->layers;
    }
    ASSERT(first == draft->input->model.layers);
}
