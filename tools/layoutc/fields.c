/* fields.c: see fields.h. Build host.
 *
 * (1) Fields that one step needs at the same time do not overlap; fields of different steps may. Within the backward pass of a layer the MLP
 *     half ends before the attention half begins, so its fields lie over those of the other; the norm's two are used by both. */
#include "tools/layoutc/fields.h"


/* Puts a field of that many elements at *end and moves it on. */
static void put(int64_t *offset, int64_t *end, int64_t elements, int64_t element_bytes)
{
    *offset = *end;
    *end = round_up(*end + elements * element_bytes, ARENA_ALIGN_BYTES);
}

static void make_saved(struct draft *draft)
{
    const struct share *s = &draft->share;
    const struct model_input *m = &draft->input->model;
    int64_t n = s->tokens, real = draft->input->board.real_bytes, *at = draft->saved_offset, end = 0;
    put(&at[SAVED_RSTD_ATTENTION], &end, s->residual_rows, F32_BYTES);
    put(&at[SAVED_QKV], &end, n * s->qkv_columns, real);
    at[SAVED_QK_RAW] = at[SAVED_QK_RSTD] = NONE;
    if (m->qk_norm) {
        put(&at[SAVED_QK_RAW], &end, n * (s->heads + s->kv_heads) * m->head_dim, real);
        put(&at[SAVED_QK_RSTD], &end, n * (s->heads + s->kv_heads), F32_BYTES);
    }
    put(&at[SAVED_RESIDUAL_MIDDLE], &end, s->residual_rows * m->hidden, real);
    put(&at[SAVED_RSTD_MLP], &end, s->residual_rows, F32_BYTES);
    put(&at[SAVED_GATE_UP], &end, n * 2 * s->intermediate, real);
    draft->saved_bytes = end;
}

static void make_core(struct draft *draft)
{
    const struct share *s = &draft->share;
    int64_t *at = draft->core_offset, end = 0;
    put(&at[CORE_ATTENTION], &end, s->tokens * s->attention_columns, draft->input->board.real_bytes);
    put(&at[CORE_LSE], &end, s->tokens * s->heads, F32_BYTES);
    draft->core_bytes = end;
}

static void make_kept(struct draft *draft)
{
    const struct share *s = &draft->share;
    int64_t *at = draft->kept_offset, end = 0, residual = s->tokens * draft->input->model.hidden, real = draft->input->board.real_bytes;
    put(&at[KEPT_OUT_GRADIENT], &end, residual, real);
    put(&at[KEPT_MIDDLE_GRADIENT], &end, residual, real);
    put(&at[KEPT_GATE_UP_GRADIENT], &end, s->tokens * 2 * s->intermediate, real);
    put(&at[KEPT_QKV_GRADIENT], &end, s->tokens * s->qkv_columns, real);
    draft->kept_bytes = end;
}

static void make_work(struct draft *draft)
{
    const struct share *s = &draft->share;
    int64_t n = s->tokens, hidden = draft->input->model.hidden, real = draft->input->board.real_bytes;
    int64_t *at = draft->work_offset, shared = 0;
    put(&at[WORK_NORMED], &shared, n * hidden, real);
    put(&at[WORK_PARTIAL], &shared, n * hidden, real);
    int64_t head = shared, gathered = shared;
    at[WORK_GATHERED] = NONE;
    if (s->sequence_parallel)
        put(&at[WORK_GATHERED], &gathered, n * hidden, real);
    draft->work_bytes[WORK_EMBED] = gathered;
    int64_t mlp = gathered, attention = gathered;
    put(&at[WORK_ACTIVATED], &mlp, n * s->intermediate, real);
    draft->work_bytes[WORK_LAYER] = mlp;
    put(&at[WORK_GATE_UP_GRADIENT], &mlp, n * 2 * s->intermediate, real);
    put(&at[WORK_ATTENTION_GRADIENT], &attention, n * s->attention_columns, real);
    put(&at[WORK_QKV_GRADIENT], &attention, n * s->qkv_columns, real);
    put(&at[WORK_DELTA], &attention, n * s->heads, F32_BYTES);
    draft->work_bytes[WORK_LAYER_BACKWARD] = mlp > attention ? mlp : attention;
    put(&at[WORK_RSTD], &head, s->residual_rows, F32_BYTES);
    put(&at[WORK_LOGITS], &head, s->logit_rows * s->vocabulary, F32_BYTES);
    put(&at[WORK_LOGIT_STATISTICS], &head, 3 * s->logit_rows, F32_BYTES);
    draft->work_bytes[WORK_HEAD] = head;
}

void fields_make(struct draft *draft)
{
    make_saved(draft);
    make_core(draft);
    make_kept(draft);
    make_work(draft);
}
