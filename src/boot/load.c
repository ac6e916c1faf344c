/* load.c: see load.h. Phase: boot. */
#include "boot/load.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "config.h"
#include "file/safetensors.h"

enum { TASK_ELEMENTS = 1 << 12, BLOCK_ELEMENTS = 1 << 14 };     /* a task: 16 KiB, so that even the tests' models have several */

static struct tensors source;
static bool opened;
static bool *wanted;      /* [source.count]: the tables name it */

/* ---- what the tables want of the checkpoint ---- */

/* The second copy of a tied embedding is filled from the first's tensor. */
BOOT static const char *source_name(const struct shard *shard)
{
    bool tied_copy = !shard->counts && (shard->parameter == PARAMETER_HEAD || shard->parameter == PARAMETER_EMBEDDING);
    for (int32_t i = 0; tied_copy && i < stages[0].shards; i++)
        if (stages[0].shard[i].parameter == PARAMETER_EMBEDDING)
            return stages[0].shard[i].name;
    return shard->name;
}

BOOT static void shape_text(char *text, size_t room, const int64_t *shape, int32_t dimensions)
{
    size_t used = (size_t)snprintf(text, room, "[");
    for (int32_t i = 0; i < dimensions && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, i == 0 ? "" : ", ", shape[i]);
    if (used < room)
        snprintf(text + used, room - used, "]");
}

BOOT static enum status missing(const struct job *job, const struct shard *shard)
{
    const char *tip = shard->parameter == PARAMETER_HEAD ? ": the checkpoint's embeddings are tied, this image's are not"
                      : source.count == 0                ? ": the checkpoint holds no tensor at all"
                                                         : "";
    return fail(E_DATA, "%s: tensor %s is missing%s", job->model, source_name(shard), tip);
}

BOOT static enum status check_shard(const struct job *job, const struct shard *shard, struct load_facts *facts)
{
    const struct tensor *tensor = tensors_find(&source, source_name(shard));
    if (tensor == NULL)
        return missing(job, shard);
    int64_t right[2] = { shard->rows, shard->columns };
    int32_t dimensions = shard->columns == 1 ? 1 : 2;
    if (tensor->dimensions != dimensions || memcmp(tensor->shape, right, (size_t)dimensions * sizeof right[0]) != 0) {
        char seen_text[96], right_text[96];
        bool transposed = tensor->dimensions == 2 && dimensions == 2 && tensor->shape[0] == right[1] && tensor->shape[1] == right[0];
        shape_text(seen_text, sizeof seen_text, tensor->shape, tensor->dimensions);
        shape_text(right_text, sizeof right_text, right, dimensions);
        return fail(E_DATA, "%s: tensor %s has shape %s; the image needs %s%s", tensor->file, tensor->name, seen_text, right_text,
                    transposed ? ": transposed?" : "");
    }
    float nothing;
    TRY(tensor_read(tensor, &nothing, 0, 0));     /* refuses a type that cannot be trained */
    bool *mark = &wanted[tensor - source.tensor];
    if (*mark)
        return OK;
    *mark = true;
    if (tensor->type <= TENSOR_F16)
        facts->by_type[tensor->type]++;
    else
        facts->quantized++;
    return OK;
}

/* ---- what is left over ---- */

BOOT static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), tail = strlen(end);
    return bytes >= tail && strcmp(text + bytes - tail, end) == 0;
}

/* A tied model may store its head as well, if it is the embedding. */
BOOT static enum status check_tied_head(const struct tensor *head, const struct tensor *embedding, bool *equal)
{
    float a[BLOCK_ELEMENTS / 8], b[BLOCK_ELEMENTS / 8];
    *equal = false;
    if (embedding == NULL || head->elements != embedding->elements)
        return OK;
    if (head->type == embedding->type && head->bytes == embedding->bytes) {
        *equal = memcmp(head->data, embedding->data, (size_t)head->bytes) == 0;
        return OK;
    }
    for (int64_t first = 0; first < head->elements; first += ELEMENTS_OF(a)) {
        int64_t count = head->elements - first < ELEMENTS_OF(a) ? head->elements - first : ELEMENTS_OF(a);
        TRY(tensor_read(head, a, first, count));
        TRY(tensor_read(embedding, b, first, count));
        if (memcmp(a, b, (size_t)count * sizeof a[0]) != 0)
            return OK;
    }
    *equal = true;
    return OK;
}

BOOT static bool image_is_tied(void)
{
    for (int32_t pp = 0; pp < PP; pp++)
        for (int32_t i = 0; i < stages[pp].shards; i++)
            if (stages[pp].shard[i].parameter == PARAMETER_HEAD && stages[pp].shard[i].counts)
                return false;
    return true;
}

BOOT static enum status check_unused(const struct job *job, struct load_facts *facts)
{
    const struct tensor *first = NULL;
    int64_t refused = 0;
    for (int64_t i = 0; i < source.count; i++) {
        const struct tensor *tensor = &source.tensor[i];
        if (wanted[i])
            continue;
        facts->unused++;
        if (ends_with(tensor->name, ".rotary_emb.inv_freq"))     /* a constant that old checkpoints carry */
            continue;
        if (image_is_tied() && strcmp(tensor->name, "lm_head.weight") == 0) {
            TRY(check_tied_head(tensor, tensors_find(&source, stages[0].shard[0].name), &facts->head_equal));
            if (facts->head_equal)
                continue;
            if (!job->allow_unused_tensors)
                return fail(E_DATA, "%s: lm_head.weight differs from %s, but the model's embeddings are tied; unused_tensors = \"accept\" leaves it out",
                            tensor->file, stages[0].shard[0].name);
        }
        first = first == NULL ? tensor : first;
        refused++;
    }
    if (first == NULL || job->allow_unused_tensors)
        return OK;
    return fail(E_DATA, "%s: tensor %.120s is not of this model (%" PRId64 " such); unused_tensors = \"accept\" in the job leaves them out", first->file,
                first->name, refused);
}

BOOT enum status load_open(const struct job *job, struct load_facts *facts)
{
    *facts = (struct load_facts){ .source = "random numbers" };
    if (job->start_random)
        return OK;
    TRY(tensors_open(&source, job->model));
    opened = true;
    facts->tensors = source.count;
    facts->source = source.count > 0 ? source.tensor[0].file : job->model;
    for (int64_t i = 1; i < source.count; i++)
        if (strcmp(source.tensor[i].file, source.tensor[0].file) != 0)
            facts->source = job->model;
    wanted = calloc((size_t)source.count + 1, sizeof *wanted);
    if (wanted == NULL)
        return fail(E_AGAIN, "%s: no memory for a list of %" PRId64 " tensors", job->model, source.count);
    enum status status = OK;
    for (int32_t pp = 0; pp < PP && status == OK; pp++)
        for (int32_t i = 0; i < stages[pp].shards && status == OK; i++)
            status = check_shard(job, &stages[pp].shard[i], facts);
    return status != OK ? status : check_unused(job, facts);
}

BOOT enum storage load_type(const struct load_facts *facts)
{
    bool f32 = facts->by_type[TENSOR_F32] > 0, bf16 = facts->by_type[TENSOR_BF16] > 0, f16 = facts->by_type[TENSOR_F16] > 0;
    if (f32 || facts->quantized > 0 || bf16 == f16)
        return STORAGE_F32;
    return bf16 ? STORAGE_BF16 : STORAGE_F16;
}

BOOT void load_close(void)
{
    if (opened)
        tensors_close(&source);
    opened = false;
    free(wanted);
    wanted = NULL;
}

/* ---- filling a rank ---- */

/* One shard's piece, cut into runs of neighbouring elements of the whole tensor: all of it, or (cut by columns) one run a row. */
struct piece {
    const struct job *job;
    const struct shard *shard;
    const struct tensor *tensor;      /* NULL: random */
    float *to;
    int64_t runs, run_elements;       /* run r lies at to + r * run_elements */
    int64_t first, stride;            /* and is elements first + r * stride ... of the tensor */
    int64_t tasks_a_run, runs_a_task;
    uint64_t purpose;
    float scale, constant;            /* random: uniform of that scale, or (scale 0) the constant */
    float limit;                      /* largest finite number of the output type */
    atomic_llong bad;                 /* element of the whole tensor, the least; LLONG_MAX: none */
    atomic_int status;
};

/* Of each rank: the first bad weight, for load_verdict. */
static struct {
    const char *name;
    int64_t element;
} bad[RANKS];

BOOT static void check_finite(struct piece *piece, const float *x, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (fabsf(x[i]) <= piece->limit)
            continue;
        long long least = atomic_load(&piece->bad);
        while (first + i < least && !atomic_compare_exchange_weak(&piece->bad, &least, first + i))
            ;
        return;
    }
}

BOOT static void fill_run(struct piece *piece, float *to, int64_t first, int64_t count)
{
    if (piece->tensor != NULL) {
        enum status status = tensor_read(piece->tensor, to, first, count);
        if (status != OK)
            atomic_store(&piece->status, (int)status);
        else
            check_finite(piece, to, first, count);
    } else if (piece->scale > 0) {
        random_uniform(to, piece->job->seed, piece->purpose, first, count, 0.0f, piece->scale);
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i] = piece->constant;
    }
}

BOOT static void fill_task(void *argument, int64_t task)
{
    struct piece *piece = argument;
    if (piece->runs > 1) {
        for (int64_t run = task * piece->runs_a_task; run < (task + 1) * piece->runs_a_task && run < piece->runs; run++)
            fill_run(piece, piece->to + run * piece->run_elements, piece->first + run * piece->stride, piece->run_elements);
        return;
    }
    int64_t begin = task * TASK_ELEMENTS, left = piece->run_elements - begin;
    fill_run(piece, piece->to + begin, piece->first + begin, left < TASK_ELEMENTS ? left : TASK_ELEMENTS);
}

/* Which elements of the whole tensor this rank holds. */
BOOT static void cut_piece(struct piece *piece, const struct rank_row *row)
{
    const struct shard *shard = piece->shard;
    int64_t index = row->tp / shard->copies;
    if (shard->cut == CUT_COLUMNS) {
        piece->runs = shard->local_rows;
        piece->run_elements = shard->local_columns;
        piece->first = index * shard->local_columns;
        piece->stride = shard->columns;
        return;
    }
    int64_t first = shard->cut == CUT_ROWS ? index * shard->local_rows : 0, rows = shard->rows - first;
    rows = rows < 0 ? 0 : rows < shard->local_rows ? rows : shard->local_rows;     /* the rest is padding of the vocabulary */
    piece->runs = 1;
    piece->run_elements = rows * shard->columns;
    piece->first = first * shard->columns;
}

/* A uniform number in [-1/2, 1/2) has the standard deviation 1/sqrt(12). */
BOOT static void choose_random(struct piece *piece)
{
    switch (piece->shard->parameter) {
    case PARAMETER_ATTENTION_NORM: case PARAMETER_MLP_NORM: case PARAMETER_FINAL_NORM: case PARAMETER_Q_NORM: case PARAMETER_K_NORM:
        piece->constant = 1.0f;
        break;
    case PARAMETER_Q_BIAS: case PARAMETER_K_BIAS: case PARAMETER_V_BIAS:
        piece->constant = 0.0f;
        break;
    default:
        piece->scale = (float)(MODEL_INITIALIZER_RANGE * sqrt(12.0));
        break;
    }
}

/* The largest fp32 number that the type rounds to a finite one. */
BOOT static float largest(enum storage type)
{
    const uint32_t bits[] = { [STORAGE_F32] = 0x7f7fffff, [STORAGE_BF16] = 0x7f7f7fff, [STORAGE_F16] = 0x477fefff };
    float x;
    memcpy(&x, &bits[type], sizeof x);
    return x;
}

BOOT static enum status fill_shard(const struct job *job, struct rank *rank, const struct shard *shard, float *parameters, enum storage type)
{
    const char *name = source_name(shard);
    struct piece piece = {
        .job = job, .shard = shard, .to = parameters + shard->offset, .purpose = XXH64(name, strlen(name), 0), .limit = largest(type),
        .tensor = job->start_random ? NULL : tensors_find(&source, name),
    };
    atomic_init(&piece.bad, LLONG_MAX);
    atomic_init(&piece.status, OK);
    cut_piece(&piece, rank->row);
    choose_random(&piece);
    int64_t tasks = (piece.run_elements + TASK_ELEMENTS - 1) / TASK_ELEMENTS;
    if (piece.runs > 1) {
        piece.runs_a_task = piece.run_elements < TASK_ELEMENTS ? TASK_ELEMENTS / piece.run_elements : 1;
        tasks = (piece.runs + piece.runs_a_task - 1) / piece.runs_a_task;
    }
    team_run(rank->queue.team, tasks, fill_task, &piece);
    bool first = bad[rank->index].name == NULL || strcmp(name, bad[rank->index].name) < 0;
    if (atomic_load(&piece.bad) != LLONG_MAX && first) {
        bad[rank->index].name = name;
        bad[rank->index].element = atomic_load(&piece.bad);
    }
    return (enum status)atomic_load(&piece.status);
}

BOOT enum status load_rank(const struct job *job, struct rank *rank, float *parameters, enum storage type)
{
    memset(&bad[rank->index], 0, sizeof bad[0]);
    for (int32_t i = 0; i < rank->stage->buckets; i++) {
        const struct bucket *bucket = &rank->stage->bucket[i];
        int32_t buffer = bucket_buffer(rank->stage, i);
        int64_t slice = bucket->elements / DP;
        float *whole = buffer == NONE ? parameters + bucket->offset : (float *)(rank->arena.base + rank->stage->buffer[buffer].offset_bytes);
        memset(whole, 0, (size_t)bucket->elements * sizeof *whole);      /* padding is zero */
        for (int32_t s = bucket->first_shard; s < bucket->first_shard + bucket->shards; s++)
            TRY(fill_shard(job, rank, &rank->stage->shard[s], whole - bucket->offset, type));
        if (buffer != NONE)
            memcpy(parameters + bucket->offset / DP, whole + rank->row->dp * slice, (size_t)slice * sizeof *whole);
    }
    return OK;
}

BOOT enum status load_verdict(const struct job *job, enum storage type)
{
    const char *name = NULL;
    int64_t element = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        if (bad[rank].name == NULL)
            continue;
        int order = name == NULL ? -1 : strcmp(bad[rank].name, name);
        if (order < 0 || (order == 0 && bad[rank].element < element)) {
            name = bad[rank].name;
            element = bad[rank].element;
        }
    }
    if (name == NULL)
        return OK;
    const struct tensor *tensor = tensors_find(&source, name);
    int64_t columns = tensor->dimensions == 2 ? tensor->shape[1] : 1;
    char place[64];
    float value = 0;
    TRY(tensor_read(tensor, &value, element, 1));
    if (tensor->dimensions == 2)
        snprintf(place, sizeof place, "[%" PRId64 ", %" PRId64 "]", element / columns, element % columns);
    else
        snprintf(place, sizeof place, "[%" PRId64 "]", element);
    if (job->allow_bad_weights) {
        note("%s: tensor %s holds %g at %s; bad_weights = \"accept\" goes on with it", tensor->file, name, (double)value, place);
        return OK;
    }
    static const char *const words[] = { [STORAGE_F32] = "float32", [STORAGE_BF16] = "bfloat16", [STORAGE_F16] = "float16" };
    if (isfinite(value))
        return fail(E_DATA, "%s: tensor %s holds %g at %s, more than output_type %s can hold", tensor->file, name, (double)value, place, words[type]);
    return fail(E_DATA, "%s: tensor %s holds %g at %s; bad_weights = \"accept\" in the job goes on with it", tensor->file, name, (double)value, place);
}

BOOT enum status load_scan(const struct job *job, enum storage type)
{
    float block[BLOCK_ELEMENTS];
    for (int64_t i = 0; i < source.count; i++) {
        const struct tensor *tensor = &source.tensor[i];
        struct piece piece = { .limit = largest(type) };
        atomic_init(&piece.bad, LLONG_MAX);
        for (int64_t first = 0; wanted[i] && first < tensor->elements; first += BLOCK_ELEMENTS) {
            int64_t count = tensor->elements - first < BLOCK_ELEMENTS ? tensor->elements - first : BLOCK_ELEMENTS;
            TRY(tensor_read(tensor, block, first, count));
            check_finite(&piece, block, first, count);
        }
        if (atomic_load(&piece.bad) == LLONG_MAX)
            continue;
        bad[0].name = tensor->name;
        bad[0].element = atomic_load(&piece.bad);
        break;
    }
    return load_verdict(job, type);
}
