/* spoil.c: makes the bad inputs of refusals_test.sh from good ones, changing one thing each.
 *
 * usage: spoil checkpoint IN OUT copy|bf16|f16              OUT is a file; copy stores F32
 *        spoil checkpoint IN OUT drop|add|transpose|longer|scalar TENSOR
 *        spoil checkpoint IN OUT nan|inf|huge|one TENSOR INDEX      huge: 3.4e38, more than bfloat16 holds; one: that element is 1 larger
 *        spoil pack OUT ROWS SEQUENCE VOCABULARY LARGEST TOKENIZER.JSON|- [no-target|TEMPLATE_HASH]
 *                                                  documents of random tokens, the largest of them in the last row */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "file/packfile.h"
#include "file/safetensors.h"
#include "kernels/kernels.h"

enum { TENSORS_MOST = 4096 };

/* ---- checkpoint ---- */

struct change {
    const char *what, *name;
    int64_t index;
};

static void apply(const struct change *change, struct tensor_plan *plan, float **x)
{
    int64_t rows = plan->shape[0], columns = plan->dimensions == 2 ? plan->shape[1] : 1, elements = rows * columns;
    if (strcmp(change->what, "transpose") == 0) {
        float *y = malloc((size_t)elements * sizeof *y);
        for (int64_t i = 0; i < elements; i++)
            y[i % columns * rows + i / columns] = (*x)[i];
        plan->shape[0] = columns;
        plan->shape[1] = rows;
        *x = y;
    } else if (strcmp(change->what, "longer") == 0) {
        *x = realloc(*x, (size_t)(elements + columns) * sizeof **x);
        memset(*x + elements, 0, (size_t)columns * sizeof **x);
        plan->shape[0]++;
    } else if (strcmp(change->what, "nan") == 0) {
        (*x)[change->index] = NAN;
    } else if (strcmp(change->what, "inf") == 0) {
        (*x)[change->index] = -INFINITY;
    } else if (strcmp(change->what, "huge") == 0) {
        (*x)[change->index] = 3.4e38f;
    } else if (strcmp(change->what, "one") == 0) {
        (*x)[change->index] += 1.0f;
    }
}

static void put(FILE *file, const float *x, int64_t elements, enum tensor_type type)
{
    if (type == TENSOR_F32) {
        fwrite(x, sizeof *x, (size_t)elements, file);
        return;
    }
    uint16_t *narrow = malloc((size_t)elements * sizeof *narrow);
    cast_from_float(narrow, x, type == TENSOR_BF16 ? STORAGE_BF16 : STORAGE_F16, elements);
    fwrite(narrow, sizeof *narrow, (size_t)elements, file);
    free(narrow);
}

static int spoil_checkpoint(const char *in, const char *out, struct change change)
{
    static struct tensor_plan plan[TENSORS_MOST];
    static float *x[TENSORS_MOST];
    static char header[1 << 20];
    struct tensors tensors;
    int64_t count = 0, file_bytes;
    enum tensor_type type = strcmp(change.what, "bf16") == 0 ? TENSOR_BF16 : strcmp(change.what, "f16") == 0 ? TENSOR_F16 : TENSOR_F32;
    bool met = change.name == NULL || strcmp(change.what, "add") == 0;
    if (tensors_open(&tensors, in) != OK)
        return 1;
    for (int64_t i = 0; i < tensors.count && count + 1 < TENSORS_MOST; i++) {
        const struct tensor *tensor = &tensors.tensor[i];
        bool named = change.name != NULL && strcmp(change.name, tensor->name) == 0;
        met = met || named;
        if (named && strcmp(change.what, "drop") == 0)
            continue;
        plan[count] = (struct tensor_plan){
            .name = tensor->name, .type = type, .shape = { tensor->shape[0], tensor->shape[1] }, .dimensions = tensor->dimensions,
        };
        x[count] = malloc((size_t)tensor->elements * sizeof(float));
        if (tensor_read(tensor, x[count], 0, tensor->elements) != OK)
            return 1;
        if (named)
            apply(&change, &plan[count], &x[count]);
        count++;
    }
    if (strcmp(change.what, "add") == 0) {
        plan[count] = (struct tensor_plan){ .name = change.name, .type = type, .shape = { 4 }, .dimensions = 1 };
        x[count++] = calloc(4, sizeof(float));
    }
    if (!met) {
        fprintf(stderr, "spoil: %s has no tensor %s\n", in, change.name);
        return 1;
    }
    int64_t header_bytes = safetensors_header(header, sizeof header, plan, count, &file_bytes);
    FILE *file = header_bytes < 0 ? NULL : fopen(out, "wb");
    if (file == NULL)
        return 1;
    fwrite(header, 1, (size_t)header_bytes, file);
    for (int64_t i = 0; i < count; i++)
        put(file, x[i], plan[i].shape[0] * (plan[i].dimensions == 2 ? plan[i].shape[1] : 1), type);
    return fclose(file) == 0 ? 0 : 1;
}

/* ---- pack ---- */

static uint64_t next(uint64_t *state)     /* a linear congruential generator (Knuth's MMIX): any tokens will do */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static uint64_t hash_of(const char *path)
{
    static char text[1 << 24];
    FILE *file = fopen(path, "rb");
    size_t bytes = file == NULL ? 0 : fread(text, 1, sizeof text, file);
    if (file == NULL || fclose(file) != 0 || bytes == sizeof text)
        exit(1);
    return XXH64(text, bytes, 0);
}

/* Takes every target away and makes the hashes right again. */
static int remove_targets(const char *path)
{
    int file = open(path, O_RDWR);
    struct stat state;
    if (file < 0 || fstat(file, &state) != 0)
        return 1;
    uint8_t *bytes = malloc((size_t)state.st_size);
    if (pread(file, bytes, (size_t)state.st_size, 0) != state.st_size)
        return 1;
    struct pack_header *header = (struct pack_header *)(void *)bytes;
    struct pack_row *row = (struct pack_row *)(void *)(bytes + header->index_offset_bytes);
    for (uint64_t r = 0; r < header->rows; r++)
        row[r].targets = 0;
    memset(bytes + header->learned_offset_bytes, 0, header->rows * ((header->sequence_tokens + 7) / 8));
    header->targets = 0;
    header->content_hash = XXH64(bytes + PACK_HEADER_BYTES, (size_t)state.st_size - PACK_HEADER_BYTES, 0);
    header->header_hash = 0;
    header->header_hash = XXH64(bytes, PACK_HEADER_BYTES, 0);
    bool written = pwrite(file, bytes, (size_t)state.st_size, 0) == state.st_size;
    free(bytes);
    return close(file) == 0 && written ? 0 : 1;
}

static int spoil_pack(const char *out, int64_t rows, uint32_t sequence, uint32_t vocabulary, int32_t largest, const char *tokenizer,
                      uint64_t template_hash)
{
    struct pack_header header = { .sequence_tokens = sequence, .vocabulary = vocabulary, .template_hash = template_hash };
    struct pack_document *document = calloc((size_t)rows, sizeof *document);
    uint64_t *order = calloc((size_t)rows + 1, sizeof *order), state = 1;
    snprintf(header.files[0], sizeof header.files[0], "rows.jsonl");
    if (strcmp(tokenizer, "-") != 0)
        header.tokenizer_hash = hash_of(tokenizer);
    for (int64_t r = 0; r < rows; r++) {
        int32_t *token = calloc(sequence, sizeof *token);
        uint8_t *learned = calloc(sequence, sizeof *learned);
        uint32_t used = sequence / 2 + (uint32_t)(next(&state) % (sequence / 2));
        for (uint32_t t = 0; t < used; t++) {
            token[t] = t == 3 && r == rows - 1 ? largest : (int32_t)(next(&state) % (uint64_t)(largest < 200 ? largest : 200));
            learned[t] = t > used / 2;
        }
        document[r] = (struct pack_document){ .token = token, .learned = learned, .tokens = used, .source = { .line = (uint64_t)r + 1 } };
        order[r] = (uint64_t)r;
    }
    order[rows] = (uint64_t)rows;     /* one document a row: the same numbers say where a row begins */
    return pack_write(out, &header, document, order, order, (uint64_t)rows) == OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    status_program("spoil");
    if (argc >= 5 && strcmp(argv[1], "checkpoint") == 0)
        return spoil_checkpoint(argv[2], argv[3],
                                (struct change){ argv[4], argc > 5 ? argv[5] : NULL, argc > 6 ? strtoll(argv[6], NULL, 10) : 0 });
    if (argc >= 8 && strcmp(argv[1], "pack") == 0) {
        bool untargeted = argc > 8 && strcmp(argv[8], "no-target") == 0;
        int status = spoil_pack(argv[2], strtoll(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10), (uint32_t)strtoul(argv[5], NULL, 10),
                                (int32_t)strtol(argv[6], NULL, 10), argv[7], argc > 8 && !untargeted ? strtoull(argv[8], NULL, 10) : 0);
        return status != 0 || !untargeted ? status : remove_targets(argv[2]);
    }
    fprintf(stderr, "usage: see the head of spoil.c\n");
    return 2;
}
