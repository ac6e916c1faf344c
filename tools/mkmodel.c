/* mkmodel.c: a model header for layouts/models/ from a Hugging Face config.json. Build host.
 *
 * usage: mkmodel CONFIG_OR_FOLDER --name NAME > layouts/models/NAME.h */
#include <stdio.h>
#include <string.h>

#include "file/hfconfig.h"

static void print_whole(const char *name, int64_t value)
{
    printf("#define %-35s %lld\n", name, (long long)value);
}

/* The shortest text that reads back as the same double; a point or exponent makes it a real. */
static void print_real(const char *name, double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            break;
    }
    printf("#define %-35s %s%s\n", name, text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void print_header(const struct hfconfig *config, const char *name)
{
    static const char *const rope[HFCONFIG_ROPE_KINDS] = { "ROPE_NONE", "ROPE_LINEAR", "ROPE_LLAMA3", "ROPE_YARN" };
    const struct model_shape *s = &config->shape;
    printf("/* layouts/models/%s.h: written by tools/mkmodel from the model's config.json. */\n", name);
    printf("#define %-35s \"%s\"\n", "MODEL_NAME", name);
    printf("#define %-35s \"%s\"\n", "MODEL_TYPE", config->family);
    printf("#define %-35s \"%s\"\n", "MODEL_ARCHITECTURE", config->architecture);
    print_whole("MODEL_HIDDEN", s->hidden);
    print_whole("MODEL_LAYERS", s->layers);
    print_whole("MODEL_HEADS", s->heads);
    print_whole("MODEL_KV_HEADS", s->kv_heads);
    print_whole("MODEL_HEAD_DIM", s->head_dim);
    print_whole("MODEL_INTERMEDIATE", s->intermediate);
    print_whole("MODEL_VOCABULARY", s->vocabulary);
    print_whole("MODEL_POSITIONS", s->positions);
    print_whole("MODEL_TIED", s->tied);
    print_whole("MODEL_QKV_BIAS", s->qkv_bias);
    print_whole("MODEL_QK_NORM", s->qk_norm);
    print_whole("MODEL_WINDOW_TOKENS", s->window_tokens);
    print_whole("MODEL_WINDOW_FIRST_LAYER", s->window_first_layer);
    print_real("MODEL_NORM_EPSILON", s->norm_epsilon);
    print_real("MODEL_INITIALIZER_RANGE", s->initializer_range);
    print_real("MODEL_ROPE_THETA", s->rope_theta);
    printf("#define %-35s %s\n", "MODEL_ROPE_SCALING", rope[s->rope]);
    print_real("MODEL_ROPE_FACTOR", s->rope_factor);
    print_real("MODEL_ROPE_LOW_FREQUENCY_FACTOR", s->rope_low_frequency_factor);
    print_real("MODEL_ROPE_HIGH_FREQUENCY_FACTOR", s->rope_high_frequency_factor);
    print_real("MODEL_ROPE_ORIGINAL_POSITIONS", s->rope_original_positions);
    print_real("MODEL_ROPE_BETA_FAST", s->rope_beta_fast);
    print_real("MODEL_ROPE_BETA_SLOW", s->rope_beta_slow);
    print_real("MODEL_ROPE_ATTENTION_FACTOR", s->rope_attention_factor);
    print_whole("MODEL_ROPE_TRUNCATE", s->rope_truncate);
}

int main(int argc, char **argv)
{
    status_program("mkmodel");
    if (argc != 4 || strcmp(argv[2], "--name") != 0 || strspn(argv[3], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != strlen(argv[3]))
        return fail(E_USAGE, "usage: mkmodel CONFIG_OR_FOLDER --name NAME > layouts/models/NAME.h (letters, digits, '.', '-', '_')");
    struct hfconfig config;
    TRY(hfconfig_read(&config, argv[1], false));
    print_header(&config, argv[3]);
    return OK;
}
