/* mkmodel.c: a model header for layouts/models/ from a Hugging Face config.json. Build host.
 *
 * usage: mkmodel CONFIG_OR_FOLDER --name NAME [--out layouts/models/NAME.h]
 *
 * (1) With --out the file is whole or is not touched: it is written beside and renamed. Without, the header goes to standard output, where a
 * shell's > has emptied the file before mkmodel can refuse. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file/hfconfig.h"

static void print_whole(FILE *out, const char *name, int64_t value)
{
    fprintf(out, "#define %-35s %lld\n", name, (long long)value);
}

/* The shortest text that reads back as the same double; a point or exponent makes it a real. */
static void print_real(FILE *out, const char *name, double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (sscanf(text, "%lf", &back) == 1 && back == value)
            break;
    }
    fprintf(out, "#define %-35s %s%s\n", name, text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void print_header(FILE *out, const struct hfconfig *config, const char *name)
{
    static const char *const rope[HFCONFIG_ROPE_KINDS] = { "ROPE_NONE", "ROPE_LINEAR", "ROPE_LLAMA3", "ROPE_YARN" };
    const struct model_shape *s = &config->shape;
    fprintf(out, "/* layouts/models/%s.h: written by tools/mkmodel from the model's config.json. */\n", name);
    fprintf(out, "#define %-35s \"%s\"\n", "MODEL_NAME", name);
    fprintf(out, "#define %-35s \"%s\"\n", "MODEL_TYPE", config->family);
    fprintf(out, "#define %-35s \"%s\"\n", "MODEL_ARCHITECTURE", config->architecture);
    print_whole(out, "MODEL_HIDDEN", s->hidden);
    print_whole(out, "MODEL_LAYERS", s->layers);
    print_whole(out, "MODEL_HEADS", s->heads);
    print_whole(out, "MODEL_KV_HEADS", s->kv_heads);
    print_whole(out, "MODEL_HEAD_DIM", s->head_dim);
    print_whole(out, "MODEL_INTERMEDIATE", s->intermediate);
    print_whole(out, "MODEL_VOCABULARY", s->vocabulary);
    print_whole(out, "MODEL_POSITIONS", s->positions);
    print_whole(out, "MODEL_TIED", s->tied);
    print_whole(out, "MODEL_QKV_BIAS", s->qkv_bias);
    print_whole(out, "MODEL_QK_NORM", s->qk_norm);
    print_whole(out, "MODEL_WINDOW_TOKENS", s->window_tokens);
    print_whole(out, "MODEL_WINDOW_FIRST_LAYER", s->window_first_layer);
    print_real(out, "MODEL_NORM_EPSILON", s->norm_epsilon);
    print_real(out, "MODEL_INITIALIZER_RANGE", s->initializer_range);
    print_real(out, "MODEL_ROPE_THETA", s->rope_theta);
    fprintf(out, "#define %-35s %s\n", "MODEL_ROPE_SCALING", rope[s->rope]);
    print_real(out, "MODEL_ROPE_FACTOR", s->rope_factor);
    print_real(out, "MODEL_ROPE_LOW_FREQUENCY_FACTOR", s->rope_low_frequency_factor);
    print_real(out, "MODEL_ROPE_HIGH_FREQUENCY_FACTOR", s->rope_high_frequency_factor);
    print_real(out, "MODEL_ROPE_ORIGINAL_POSITIONS", s->rope_original_positions);
    print_real(out, "MODEL_ROPE_BETA_FAST", s->rope_beta_fast);
    print_real(out, "MODEL_ROPE_BETA_SLOW", s->rope_beta_slow);
    print_real(out, "MODEL_ROPE_ATTENTION_FACTOR", s->rope_attention_factor);
    print_whole(out, "MODEL_ROPE_TRUNCATE", s->rope_truncate);
}

static enum status write_header(const char *path, const struct hfconfig *config, const char *name)
{
    char draft[4096];
    if (snprintf(draft, sizeof draft, "%s.tmp", path) >= (int)sizeof draft)
        return fail(E_USAGE, "--out: the path has more than %zu bytes", sizeof draft - sizeof ".tmp");
    FILE *out = fopen(draft, "w");
    if (out == NULL)
        return fail(E_READ, "%s: cannot be written: %s", draft, strerror(errno));
    print_header(out, config, name);
    bool written = fflush(out) == 0 && ferror(out) == 0 && fsync(fileno(out)) == 0;
    int cause = errno;
    bool closed = fclose(out) == 0;
    if (written && closed && rename(draft, path) == 0)
        return OK;
    cause = written ? errno : cause;
    unlink(draft);
    return fail(E_READ, "%s: cannot be written: %s", path, strerror(cause));
}

int main(int argc, char **argv)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    status_program("mkmodel");
    bool to_file = argc == 6 && strcmp(argv[4], "--out") == 0 && argv[5][0] != '\0';
    if ((argc != 4 && !to_file) || strcmp(argv[2], "--name") != 0 || argv[3][0] == '\0' || strspn(argv[3], plain) != strlen(argv[3]))
        return fail(E_USAGE, "usage: mkmodel CONFIG_OR_FOLDER --name NAME [--out layouts/models/NAME.h] (NAME: letters, digits, '.', '-', '_')");
    struct hfconfig config;
    TRY(hfconfig_read(&config, argv[1], false));
    if (to_file)
        return write_header(argv[5], &config, argv[3]);
    print_header(stdout, &config, argv[3]);
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? OK : fail(E_READ, "standard output: %s", strerror(errno));
}
