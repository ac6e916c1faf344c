/* options.c: see options.h. One table says every option: its name, what it takes, where it goes, and what --help says of it. */
#include "tools/pack/options.h"

#include "tools/pack/work.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum takes { TAKES_NOTHING, TAKES_TEXT, TAKES_TEXTS, TAKES_COUNT, TAKES_SHARE, TAKES_WORD };

#define AT(field) offsetof(struct options, field)

static const char *const loss_words[] = { "all", "last", NULL };
static const char *const control_words[] = { "token", "text", "refuse", NULL };
static const char *const long_words[] = { "cut", "drop", NULL };
static const char *const order_words[] = { "fill", "file", "alone", NULL };

static const struct option {
    const char *name;
    enum takes takes;
    size_t at;
    const char *const *words;
    const char *value, *help;
} table[] = {
    { "--tokenizer", TAKES_TEXT, AT(tokenizer), NULL, "FOLDER",
      "the model's: tokenizer.json, and tokenizer_config.json for the template. Needed" },
    { "--sequence", TAKES_COUNT, AT(sequence_tokens), NULL, "N", "tokens of a packed row: the layout's. Needed; 8 to 1048576" },
    { "--out", TAKES_TEXT, AT(out), NULL, "FILE", "what to write. Needed" },
    { "--held-out", TAKES_SHARE, AT(held_ratio), NULL, "RATIO",
      "share of the rows kept for evaluation, by a hash of seed and words, as 0.05. Default 0" },
    { "--held-out-file", TAKES_TEXTS, AT(held_files), NULL, "FILE", "rows kept for evaluation, from a file of their own; may be repeated" },
    { "--held", TAKES_TEXT, AT(held), NULL, "FILE", "where those go. Default held.pack beside --out" },
    { "--system", TAKES_TEXT, AT(system), NULL, "TEXT",
      "system message for rows that have none. Default: the template's own, if it has one" },
    { "--template", TAKES_TEXT, AT(template_name), NULL, "NAME|FILE",
      "chat template: one the model names, a file, or one of those below. Default: the model's own" },
    { "--template-set", TAKES_TEXTS, AT(template_set), NULL, "NAME=VALUE",
      "a variable of the template, as enable_thinking=false or date_string=\"26 Jul 2024\" (that date is the default; never today's)" },
    { "--loss", TAKES_WORD, AT(loss), loss_words, "all|last",
      "what is learned: all that the assistant says, or its last message. A message's loss, loss_weight, weight or train field goes "
      "before. Default all" },
    { "--control", TAKES_WORD, AT(control), control_words, "token|text|refuse",
      "the text of a special token inside a message: becomes that token, as in transformers; stays text; or breaks the row. Counted. "
      "Default token" },
    { "--long", TAKES_WORD, AT(too_long), long_words, "cut|drop",
      "what is longer than --sequence: keeps its first tokens (plain text goes on in further documents), or is left out. Default cut" },
    { "--order", TAKES_WORD, AT(order), order_words, "fill|file|alone",
      "documents of a row: so that rows are full; in the files' order; one a row. Default fill" },
    { "--end-text", TAKES_NOTHING, AT(end_text), NULL, "",
      "put eos_token behind each plain text. Default: only what the tokenizer's post-processor adds" },
    { "--map", TAKES_TEXTS, AT(map), NULL, "OURS=THEIRS,...",
      "only these fields are read, as instruction=question,output=answer; ours: see the forms below, and role, content" },
    { "--role", TAKES_TEXTS, AT(role), NULL, "OURS=THEIRS,...", "what a role is called in the files, as user=client,assistant=agent" },
    { "--fill", TAKES_TEXTS, AT(fill), NULL, "NAME=TEXT", "put TEXT wherever a message has {{NAME}}" },
    { "--bad-rows", TAKES_TEXT, AT(bad_rows), NULL, "N|P%", "broken rows that are left out before the whole is refused. Default 0" },
    { "--seed", TAKES_COUNT, AT(seed), NULL, "N", "of the shares and of --held-out. Default 42" },
    { "--threads", TAKES_COUNT, AT(threads), NULL, "N", "default: every core. The output does not depend on it" },
    { "--show", TAKES_NOTHING, AT(show), NULL, "[N]",
      "print N packed rows (default 3), what is learned marked; alone with a data.pack and --tokenizer: of that file" },
    { "--row", TAKES_COUNT, AT(show_first), NULL, "R", "the first row that --show prints, from 0" },
    { "--help", TAKES_NOTHING, AT(help), NULL, "", "this" },
};

enum { HELP_COLUMNS = 120, HELP_INDENT = 34 };

/* Prints help behind the option's name, in lines of its own column. */
static void print_wrapped(const char *help)
{
    int column = HELP_INDENT;
    while (*help != '\0') {
        int word = (int)strcspn(help, " ");
        if (column > HELP_INDENT && column + 1 + word > HELP_COLUMNS) {
            printf("\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            putchar(' ');
            column++;
        }
        printf("%.*s", word, help);
        column += word;
        help += word + (help[word] == ' ');
    }
    putchar('\n');
}

void options_help(void)
{
    static const char head[] =
        "usage: pack --tokenizer FOLDER --sequence N --out FILE [option...] file[#share]...\n"
        "       pack --show [N] --tokenizer FOLDER data.pack\n\n"
        "Reads rows, renders them with the model's chat template, tokenizes them, marks what is learned and packs them into rows of N "
        "tokens.\n"
        "file#1000 takes 1000 rows of a file: a sample by the seed, or, where the file has fewer, some or all of them more than once.\n\n";
    static const char tail[] =
        "\nFiles: JSON lines; a JSON array (the first character is \"[\"); .txt, one document a line. Forms, by the fields of each row:\n"
        "  messages | conversations | conversation | dialogue: role, content (or from, value; or human, assistant); system, tools, chosen\n"
        "  instruction | query | prompt | question | problem | input, with output | response | completion | answer | solution | chosen; "
        "input,\n"
        "  history, system; instruction with instances; text | content | document, or response alone; input_ids, labels\n"
        "Of preference pairs the chosen answer is learned; rows whose label is false are left out.\n"
        "Exit codes: 0 done, 64 bad usage, 65 bad data, 66 cannot be read or written, 75 try again.\n";
    fputs(head, stdout);
    for (int i = 0; i < ELEMENTS_OF(table); i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", table[i].name, table[i].value);
        printf("  %-31s ", name);
        print_wrapped(table[i].help);
    }
    fputs(tail, stdout);
    printf("Templates by name: qwen2.5 qwen3 qwen3-nothink smollm2 chatml llama3 llama3.2 llama2 mistral-v0.1 mistral-v0.2 phi3\n");
}

/* ---- values ---- */

static int distance(const char *a, const char *b)
{
    int row[64], columns = (int)strnlen(b, 63);
    for (int j = 0; j <= columns; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[columns];
}

static enum status unknown(const char *name)
{
    const struct option *nearest = &table[0];
    for (int i = 1; i < ELEMENTS_OF(table); i++)
        if (distance(name, table[i].name) < distance(name, nearest->name))
            nearest = &table[i];
    return fail(E_USAGE, "%s: no such option; the nearest is %s (see --help)", name, nearest->name);
}

static enum status read_count(const struct option *option, const char *text, void *field)
{
    char *end;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return fail(E_USAGE, "%s %s: right is a whole number from 0", option->name, text);
    if (option->at == AT(seed)) {
        *(uint64_t *)field = count;
        return OK;
    }
    uint64_t most = option->at == AT(show_first) ? INT64_MAX : option->at == AT(threads) ? THREADS_MOST : 1 << 20;
    if (count > most)
        return fail(E_USAGE, "%s %s: at most %llu", option->name, text, (unsigned long long)most);
    if (option->at == AT(show_first))
        *(int64_t *)field = (int64_t)count;
    else if (option->at == AT(threads))
        *(int *)field = (int)count;
    else
        *(uint32_t *)field = (uint32_t)count;
    return OK;
}

static enum status read_word(const struct option *option, const char *text, void *field)
{
    for (int w = 0; option->words[w] != NULL; w++)
        if (strcmp(option->words[w], text) == 0) {
            *(int *)field = w; /* all these enums begin at 0 in the order of their words */
            return OK;
        }
    return fail(E_USAGE, "%s %s: right is %s", option->name, text, option->value);
}

static enum status read_value(const struct option *option, const char *text, struct options *options)
{
    void *field = (char *)options + option->at;
    struct values *values = field;
    char *end;
    int32_t character;
    for (size_t at = 0, length = strlen(text); at < length;) {
        utf8proc_ssize_t used = utf8proc_iterate((const uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &character);
        if (used <= 0 && option->at != AT(tokenizer) && option->at != AT(out) && option->at != AT(held) && option->at != AT(held_files))
            return fail(E_USAGE, "%s: its value is no valid UTF-8", option->name);
        at += used > 0 ? (size_t)used : 1;
    }
    switch (option->takes) {
    case TAKES_COUNT:
        return read_count(option, text, field);
    case TAKES_WORD:
        return read_word(option, text, field);
    case TAKES_SHARE:
        *(double *)field = strtod(text, &end);
        if (*end != '\0' || end == text || !(*(double *)field >= 0.0 && *(double *)field < 1.0))
            return fail(E_USAGE, "%s %s: right is a number from 0 to below 1", option->name, text);
        return OK;
    case TAKES_TEXTS:
        if (values->count == OPTION_VALUES_MOST)
            return fail(E_USAGE, "%s: given more than %d times", option->name, OPTION_VALUES_MOST);
        values->value[values->count++] = text;
        return OK;
    default:
        break;
    }
    if (option->at != AT(bad_rows)) {
        *(const char **)field = text;
        return OK;
    }
    double number = strtod(text, &end);
    bool percent = end > text && strcmp(end, "%") == 0;
    if (text[0] < '0' || text[0] > '9' || (*end != '\0' && !percent) || (percent ? number > 100.0 : number != (double)(int64_t)number))
        return fail(E_USAGE, "--bad-rows %s: right is a whole number, or a share as 0.5%%", text);
    options->bad_rows = percent ? -1 : (int64_t)number;
    options->bad_ratio = number / 100.0;
    return OK;
}

/* "a=b,c=d" of values into pairs; with whole true each value is one pair, commas and all. */
static enum status read_pairs(struct pool *pool, const char *name, const struct values *values, bool whole, struct pairing *pairs,
                              int *count)
{
    for (int v = 0; v < values->count; v++) {
        char *rest = pool_copy(pool, values->value[v], strlen(values->value[v])), *piece;
        while ((piece = whole ? rest : strsep(&rest, ",")) != NULL) {
            char *equals = strchr(piece, '=');
            if (equals == NULL || equals == piece || (!whole && equals[1] == '\0'))
                return fail(E_USAGE, "%s %s: right is %s", name, values->value[v],
                            whole ? "name=text" : "ours=theirs, with commas between several");
            if (*count == OPTION_VALUES_MOST)
                return fail(E_USAGE, "%s: more than %d pairs", name, OPTION_VALUES_MOST);
            *equals = '\0';
            pairs[(*count)++] = (struct pairing){ piece, equals + 1 };
            if (whole)
                break;
        }
    }
    return OK;
}

static enum status check_names(const char *name, const struct pairing *pairs, int count, const char *const *known)
{
    for (int i = 0; i < count; i++) {
        int k = 0;
        while (known[k] != NULL && strcmp(known[k], pairs[i].left) != 0)
            k++;
        if (known[k] == NULL)
            return fail(E_USAGE, "%s %s=%s: \"%s\" is none of ours; see --help", name, pairs[i].left, pairs[i].right, pairs[i].left);
    }
    return OK;
}

static enum status check_all(struct options *options)
{
    static const char *const fields[] = { "messages",   "conversations", "conversation", "dialogue",  "instruction",   "query",
                                          "prompt",     "question",      "problem",      "input",     "output",        "response",
                                          "completion", "answer",        "solution",     "chosen",    "rejected",      "history",
                                          "system",     "tools",         "text",         "content",   "document",      "input_ids",
                                          "labels",     "label",         "role",         "instances", "system_prompt", NULL };
    static const char *const roles[] = { "system", "user", "assistant", "tool", "function_call", NULL };
    if (options->tokenizer == NULL)
        return fail(E_USAGE, "--tokenizer is needed: the folder with the model's tokenizer.json (see --help)");
    if (options->files == 0)
        return fail(E_USAGE, "no file is named (see --help)");
    TRY(read_pairs(&options->pool, "--map", &options->map, false, options->maps, &options->maps_count));
    TRY(read_pairs(&options->pool, "--role", &options->role, false, options->roles, &options->roles_count));
    TRY(read_pairs(&options->pool, "--fill", &options->fill, true, options->fills, &options->fills_count));
    TRY(check_names("--map", options->maps, options->maps_count, fields));
    TRY(check_names("--role", options->roles, options->roles_count, roles));
    if (options->show && options->out == NULL && options->sequence_tokens == 0)
        return options->files == 1 ? OK : fail(E_USAGE, "--show takes one data.pack, not %d files", options->files);
    if (options->sequence_tokens == 0)
        return fail(E_USAGE, "--sequence is needed: the tokens of a row, 8 to 1048576");
    if (options->sequence_tokens < 8)
        return fail(E_USAGE, "--sequence %u: right is 8 to 1048576", options->sequence_tokens);
    if (options->out == NULL || options->out[0] == '\0')
        return fail(E_USAGE, "--out is needed: the file to write");
    const char *slash = strrchr(options->out, '/');
    snprintf(options->held_path, sizeof options->held_path, "%.*sheld.pack", slash != NULL ? (int)(slash - options->out) + 1 : 0,
             options->out);
    if (options->held != NULL)
        snprintf(options->held_path, sizeof options->held_path, "%s", options->held);
    if (strcmp(options->held_path, options->out) == 0)
        return fail(E_USAGE, "--out and --held are both %s", options->out);
    return OK;
}

static int cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < THREADS_MOST ? count : THREADS_MOST;
}

enum status options_read(struct options *options, int argc, char **argv)
{
    *options = (struct options){ .seed = 42, .show_rows = 3 };
    options->file = memory_take((size_t)argc * sizeof *options->file);
    bool only_files = false;
    for (int a = 1; a < argc; a++) {
        if (only_files || argv[a][0] != '-' || argv[a][1] == '\0') {
            options->file[options->files++] = argv[a];
            continue;
        }
        only_files = strcmp(argv[a], "--") == 0;
        if (only_files)
            continue;
        const char *equals = strchr(argv[a], '=');
        size_t length = equals != NULL ? (size_t)(equals - argv[a]) : strlen(argv[a]);
        const struct option *option = NULL;
        for (int i = 0; i < ELEMENTS_OF(table) && option == NULL; i++)
            if (strlen(table[i].name) == length && strncmp(table[i].name, argv[a], length) == 0)
                option = &table[i];
        if (option == NULL && strcmp(argv[a], "-h") != 0)
            return unknown(argv[a]);
        if (option == NULL || option->takes == TAKES_NOTHING) {
            *(bool *)((char *)options + (option != NULL ? option->at : AT(help))) = true;
            const char *number = equals != NULL ? equals + 1 : a + 1 < argc ? argv[a + 1] : "";
            bool counts = option != NULL && option->at == AT(show) && number[0] != '\0' && strspn(number, "0123456789") == strlen(number);
            if (equals != NULL && !counts)
                return fail(E_USAGE, "%s: %.*s takes no such value", argv[a], (int)length, argv[a]);
            if (counts)
                options->show_rows = strtoll(number, NULL, 10);
            a += counts && equals == NULL;
            continue;
        }
        if (equals == NULL && a + 1 == argc)
            return fail(E_USAGE, "%s needs a value: %s", argv[a], option->value);
        TRY(read_value(option, equals != NULL ? equals + 1 : argv[++a], options));
    }
    if (options->threads == 0)
        options->threads = cores();
    return options->help ? OK : check_all(options);
}

void options_close(struct options *options)
{
    free(options->file);
    pool_close(&options->pool);
}
