/* tiny.h: a tokenizer of bytes in a folder of its own, and pack run as a child, for the tests of this folder. */
#ifndef TEST_PACK_TINY_H
#define TEST_PACK_TINY_H

#include "file/packfile.h"
#include "test/test.h"
#include "tools/pack/pack.h"
#include "tools/pack/tokenizer.h"

#include <sys/wait.h>
#include <unistd.h>

static inline const char *tiny_path(const char *folder, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        abort();
    return path;
}

static inline const char *tiny_put(const char *folder, const char *name, const char *text)
{
    const char *path = tiny_path(folder, name);
    FILE *file = fopen(path, "wb");
    fputs(text, file);
    fclose(file);
    return path;
}

/* Writes tokenizer.json: one token a byte, and the special tokens <s>, <|im_start|>, <|im_end|>, <|end|>. bos: the post-processor puts <s>
 * before a text. template goes to tokenizer_config.json (JSON text of its value, or NULL). */
static inline const char *tiny_model(const char *template, bool bos)
{
    static const char *const special[] = { "<s>", "<|im_start|>", "<|im_end|>", "<|end|>" };
    const char *folder = test_folder();
    FILE *file = fopen(tiny_path(folder, "tokenizer.json"), "wb");
    fputs("{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[", file);
    for (int i = 0; i < 4; i++)
        fprintf(file,
                "%s{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":"
                "true}",
                i > 0 ? "," : "", 256 + i, special[i]);
    fputs("],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":"
          "true},",
          file);
    if (bos)
        fputs("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},{"
              "\"Sequence\":"
              "{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_"
              "id\":1}}],"
              "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[256],\"tokens\":[\"<s>\"]}}},",
              file);
    else
        fputs("\"post_processor\":null,", file);
    fputs("\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"model\":{\"type\":"
          "\"BPE\","
          "\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
          "\"byte_fallback\":false,\"vocab\":{",
          file);
    for (int byte = 0, other = 256; byte < 256; byte++) {
        /* Bytes that are no printable Latin-1 characters have names from U+0100 on, as GPT-2 gave them. */
        bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
        fprintf(file, "%s\"\\u%04x\":%d", byte > 0 ? "," : "", printable ? byte : other++, byte);
    }
    fputs("},\"merges\":[]}}", file);
    fclose(file);
    char *config = NULL;
    if (asprintf(&config, "{\"bos_token\":\"<s>\",\"eos_token\":\"<|im_end|>\",\"chat_template\":%s}",
                 template != NULL ? template : "null") < 0)
        abort();
    tiny_put(folder, "tokenizer_config.json", config);
    free(config);
    return folder;
}

/* chatml, as JSON text. */
#define TINY_CHATML                                                                                                                        \
    "\"{% for m in messages %}{{ '<|im_start|>' + m.role + '\\\\n' + m.content + '<|im_end|>' + '\\\\n' }}{% endfor %}"                    \
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\\\n' }}{% endif %}\""

/* Runs pack with these arguments (words with spaces between; no quoting) in a child; its exit code, and all it printed in *said (freed by no
 * one: tests are short). */
static inline int tiny_pack(char **said, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int tiny_pack(char **said, const char *format, ...)
{
    char line[8192], *word[128], *rest = line;
    int words = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    word[words++] = "pack";
    for (char *next; (next = strsep(&rest, " ")) != NULL && words < 127;)
        if (next[0] != '\0')
            word[words++] = next;
    word[words] = NULL;
    const char *log = tiny_path(test_folder(), "said");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(log, "wb", stdout) == NULL || dup2(fileno(stdout), STDERR_FILENO) < 0)
            _exit(1);
        status_program("pack");
        status_quiet(false);
        enum status status = pack_main(words, word);
        fflush(stdout);
        _exit(status);
    }
    int status = 0;
    waitpid(child, &status, 0);
    *said = test_read(log, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The documents of a pack as text: what is learned between [ and ], documents with "|" between, rows with "||". */
static inline char *tiny_documents(const char *path, const char *model)
{
    struct pack pack;
    struct tokenizer *tokenizer;
    EXPECT_EQ(pack_open(&pack, path), OK);
    EXPECT_EQ(tokenizer_open(&tokenizer, tiny_path(model, "tokenizer.json")), OK);
    test_stop_if_failed();
    uint32_t sequence = pack.header->sequence_tokens;
    int32_t *row = malloc(sequence * 4 * sizeof *row);
    char *out = calloc(1, (size_t)pack.header->tokens * 40 + 16);
    for (int64_t r = 0; r < (int64_t)pack.header->rows; r++) {
        int32_t *token = row, *target = row + sequence, *start = target + sequence, *position = start + sequence;
        pack_row_read(&pack, r, token, target, start, position);
        strcat(out, r > 0 ? "||" : "");
        bool open = false;
        for (uint32_t t = 0, end; t < pack.row[r].tokens; t = end) {
            /* A run of tokens of one document, all learned or none. */
            bool learned = t > 0 && start[t] == start[t - 1] && target[t - 1] >= 0;
            for (end = t + 1; end < pack.row[r].tokens && start[end] == start[t] && (target[end - 1] >= 0) == learned;)
                end++;
            strcat(out, open && !learned ? "]" : "");
            strcat(out, t > 0 && start[t] != start[t - 1] ? "|" : "");
            strcat(out, learned && !open ? "[" : "");
            open = learned;
            char *text = NULL;
            size_t bytes = 0;
            EXPECT_EQ(tokenizer_decode(tokenizer, &token[t], end - t, false, &text, &bytes), OK);
            strncat(out, text, bytes);
            free(text);
        }
        strcat(out, open ? "]" : "");
    }
    free(row);
    pack_close(&pack);
    tokenizer_close(tokenizer);
    return out;
}

#endif
