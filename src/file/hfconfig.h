/* hfconfig.h: config.json of a Hugging Face folder, as shapes. What it asks for and Nocturne lacks is an error that names the field.
 *
 * Build host and boot; allocates while it reads. (1) No number of the file sizes an allocation. (2) A default that the family gives, and the file
 * does not state, is said as a note where it decides results. */
#ifndef SRC_FILE_HFCONFIG_H
#define SRC_FILE_HFCONFIG_H

#include "platform/status.h"

/* How positions are stretched; the names stand in model headers, too (kernels/kernels.h has the same order). */
enum hfconfig_rope { HFCONFIG_ROPE_NONE, HFCONFIG_ROPE_LINEAR, HFCONFIG_ROPE_LLAMA3, HFCONFIG_ROPE_YARN, HFCONFIG_ROPE_KINDS };

struct model_shape {
    int64_t hidden, layers, heads, kv_heads, head_dim, intermediate, vocabulary, positions;
    bool tied, qkv_bias, qk_norm;
    int64_t window_tokens;             /* 0: none */
    int64_t window_first_layer;        /* layers from here on use the window */
    double norm_epsilon, rope_theta, initializer_range;
    enum hfconfig_rope rope;
    double rope_factor, rope_low_frequency_factor, rope_high_frequency_factor, rope_original_positions;
    double rope_beta_fast, rope_beta_slow, rope_attention_factor;      /* attention factor 0: by the formula */
    bool rope_truncate;
};

struct hfconfig {
    char family[32];                   /* model_type: "llama", "mistral", "qwen2", "qwen3" */
    char architecture[64];             /* "LlamaForCausalLM" */
    struct model_shape shape;
};

/* path: config.json, or the folder that holds it. quiet: no notes about defaults. Returns OK; E_READ if it cannot be read; E_DATA naming the
 * field, the value seen and what would be right. */
MUST_USE enum status hfconfig_read(struct hfconfig *config, const char *path, bool quiet);

/* The first field in which two shapes differ, with both values as text; NULL if there is none. The text lives until the next call. */
const char *hfconfig_difference(const struct model_shape *seen, const struct model_shape *right);

#endif
