/* ggufmodel.c: the tensors of a GGUF file under their Hugging Face names (tensors.h). Boot and build host.
 *
 * (1) Rows of q and k of architecture llama lie in interleaved rotary order there; they are marked, and tensor_read puts them back.
 * (2) An architecture that names or scales its tensors otherwise is refused: its numbers would be taken for others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/gguf.h"
#include "file/tensors.h"

enum { NAME_BYTES = 160, LAYER_DIGITS_MOST = 5, SHOWN = 120 };

static const struct {
    const char *gguf, *name;
} layer_parts[] = {
    { "attn_norm.weight", "input_layernorm.weight" },         { "attn_q.weight", "self_attn.q_proj.weight" },
    { "attn_k.weight", "self_attn.k_proj.weight" },           { "attn_v.weight", "self_attn.v_proj.weight" },
    { "attn_q.bias", "self_attn.q_proj.bias" },               { "attn_k.bias", "self_attn.k_proj.bias" },
    { "attn_v.bias", "self_attn.v_proj.bias" },               { "attn_q_norm.weight", "self_attn.q_norm.weight" },
    { "attn_k_norm.weight", "self_attn.k_norm.weight" },      { "attn_output.weight", "self_attn.o_proj.weight" },
    { "ffn_norm.weight", "post_attention_layernorm.weight" }, { "ffn_gate.weight", "mlp.gate_proj.weight" },
    { "ffn_up.weight", "mlp.up_proj.weight" },                { "ffn_down.weight", "mlp.down_proj.weight" },
}, outside[] = {
    { "token_embd.weight", "model.embed_tokens.weight" }, { "output_norm.weight", "model.norm.weight" }, { "output.weight", "lm_head.weight" },
};

/* The part behind "blk.<layer>.", or NULL: the layer is a plain decimal number, so that no two names of the file mean one tensor. */
static const char *part_of(const char *name, int64_t *digits)
{
    if (strncmp(name, "blk.", 4) != 0)
        return NULL;
    *digits = (int64_t)strspn(name + 4, "0123456789");
    bool plain = *digits >= 1 && *digits <= LAYER_DIGITS_MOST && (name[4] != '0' || *digits == 1);
    return plain && name[4 + *digits] == '.' ? name + 4 + *digits + 1 : NULL;
}

/* blk.3.attn_q.weight is model.layers.3.self_attn.q_proj.weight; unknown names stay as they are. */
static void translate(char translated[NAME_BYTES], const char *name)
{
    int64_t digits = 0;
    const char *part = part_of(name, &digits);
    snprintf(translated, NAME_BYTES, "%s", name);
    for (int64_t i = 0; i < ELEMENTS_OF(outside); i++)
        if (strcmp(name, outside[i].gguf) == 0)
            snprintf(translated, NAME_BYTES, "%s", outside[i].name);
    for (int64_t i = 0; part != NULL && i < ELEMENTS_OF(layer_parts); i++)
        if (strcmp(part, layer_parts[i].gguf) == 0)
            snprintf(translated, NAME_BYTES, "model.layers.%.*s.%s", (int)digits, name + 4, layer_parts[i].name);
}

struct heads {
    bool permuted;
    int64_t q, k;
};

static enum status read_heads(const struct gguf *gguf, struct heads *heads)
{
    struct gguf_text architecture = gguf_text(gguf, "general.architecture");
    *heads = (struct heads){ .permuted = gguf_is(architecture, "llama") };
    if (gguf_is(architecture, "qwen2") || gguf_is(architecture, "qwen3"))
        return OK;
    if (!heads->permuted)
        return fail(E_DATA, "%s: general.architecture is \"%.*s\"; llama, qwen2 and qwen3 are read", gguf->path,
                    architecture.bytes < 40 ? (int)architecture.bytes : 40, architecture.data == NULL ? "" : architecture.data);
    if (!gguf_whole(gguf, "llama.attention.head_count", &heads->q) || heads->q < 1 || heads->q > 1 << 16)
        return fail(E_DATA, "%s: llama.attention.head_count is missing or no number from 1 to 65536", gguf->path);
    heads->k = heads->q;
    if (gguf_find(gguf, "llama.attention.head_count_kv") != NULL &&
        (!gguf_whole(gguf, "llama.attention.head_count_kv", &heads->k) || heads->k < 1 || heads->k > heads->q))
        return fail(E_DATA, "%s: llama.attention.head_count_kv is no number from 1 to head_count", gguf->path);
    return OK;
}

static enum status add(struct tensors *tensors, const char *path, const struct gguf_tensor *from, const struct heads *heads)
{
    char name[NAME_BYTES], translated[NAME_BYTES];
    int64_t digits = 0;
    if (from->name.bytes >= NAME_BYTES || memchr(from->name.data, '\0', (size_t)from->name.bytes) != NULL)
        return fail(E_DATA, "%s: tensor %.*s: its name has more than %d bytes or holds a NUL", path,
                    from->name.bytes < SHOWN ? (int)from->name.bytes : SHOWN, from->name.data, NAME_BYTES - 1);
    snprintf(name, sizeof name, "%.*s", (int)from->name.bytes, from->name.data);
    translate(translated, name);
    struct tensor *tensor = tensors_add(tensors, path);
    tensor->name = tensors_keep(tensors, translated);
    tensor->type = from->block->type;
    tensor->type_name = from->block->name;
    tensor->dimensions = from->dimensions;
    memcpy(tensor->shape, from->shape, sizeof from->shape);
    tensor->elements = from->elements;
    tensor->data = from->data;
    tensor->bytes = from->bytes;
    const char *part = part_of(name, &digits);
    bool q = part != NULL && strncmp(part, "attn_q.", 7) == 0, k = part != NULL && strncmp(part, "attn_k.", 7) == 0;
    if (!heads->permuted || (!q && !k))
        return OK;
    tensor->permuted = true;
    tensor->permuted_heads = (int32_t)(q ? heads->q : heads->k);
    if (tensor->shape[0] % (2 * tensor->permuted_heads) != 0)
        return fail(E_DATA, "%s: tensor %s: %" PRId64 " rows are not divided by %d heads of an even size", path, name, tensor->shape[0],
                    tensor->permuted_heads);
    return OK;
}

enum status gguf_read(struct tensors *tensors, const char *path)
{
    struct gguf gguf;
    struct heads heads;
    TRY(gguf_open(&gguf, path));
    tensors_own(tensors, &gguf.file);
    enum status status = read_heads(&gguf, &heads);
    for (int64_t i = 0; status == OK && i < gguf.tensors; i++)
        status = add(tensors, path, &gguf.tensor[i], &heads);
    gguf_close(&gguf);
    return status;
}
