/* share.c: see share.h. Build host. */
#include "tools/layoutc/share.h"

enum { LOGIT_ROWS_MOST = 256 };

struct share share_of(const struct input *input)
{
    const struct layout_input *l = &input->layout;
    const struct model_input *m = &input->model;
    struct share s = { .ranks = l->tp * l->pp * l->dp * l->cp };
    s.heads = m->heads / l->tp;
    s.kv_copies = l->tp > m->kv_heads ? l->tp / m->kv_heads : 1;
    s.kv_heads = m->kv_heads * s.kv_copies / l->tp;
    s.qkv_columns = (s.heads + 2 * s.kv_heads) * m->head_dim;
    s.attention_columns = s.heads * m->head_dim;
    s.intermediate = m->intermediate / l->tp;
    s.vocabulary = (m->vocabulary + l->tp - 1) / l->tp;
    s.tokens = l->micro_batch_rows * l->sequence_tokens;
    s.sequence_parallel = l->sequence_parallel && l->tp > 1;
    s.residual_rows = s.sequence_parallel ? s.tokens / l->tp : s.tokens;
    s.logit_rows = s.tokens < 2 * LOGIT_ROWS_MOST ? (s.tokens + 1) / 2 : LOGIT_ROWS_MOST;      /* never all of a micro-batch */
    return s;
}
