/* plan.c: see plan.h. */
#include "save/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

int64_t storage_bytes(enum storage type)
{
    return type == STORAGE_F32 ? 4 : 2;
}

bool plan_stores(const struct shard *shard)
{
    bool may_be_tied = shard->parameter == PARAMETER_EMBEDDING || shard->parameter == PARAMETER_HEAD;
    return shard->counts || !may_be_tied;
}

/* The part of the model that a shard is of, in the model's order. A part lies on one stage, in the order of its table. */
static int64_t part_of(const struct shard *shard)
{
    return shard->parameter == PARAMETER_EMBEDDING ? -1 : shard->layer == NONE ? INT32_MAX : shard->layer;
}

int64_t plan_index(int32_t pp, const struct shard *shard)
{
    int64_t index = 0, part = part_of(shard);
    if (!plan_stores(shard))
        return NONE;
    for (int32_t stage = 0; stage < PP; stage++)
        for (int32_t i = 0; i < stages[stage].shards; i++) {
            const struct shard *other = &stages[stage].shard[i];
            bool before = part_of(other) < part || (stage == pp && part_of(other) == part && other < shard);
            index += before && plan_stores(other);
        }
    return index;
}

BOOT static enum status no_memory(void)
{
    return fail(E_AGAIN, "no memory for the plan of the checkpoint");
}

BOOT static void fill_tensor(struct tensor_plan *tensor, const struct shard *shard, enum storage type)
{
    static const enum tensor_type types[] = { [STORAGE_F32] = TENSOR_F32, [STORAGE_BF16] = TENSOR_BF16, [STORAGE_F16] = TENSOR_F16 };
    *tensor = (struct tensor_plan){
        .name = shard->name, .type = types[type], .shape = { shard->rows, shard->columns }, .dimensions = shard->columns == 1 ? 1 : 2,
    };
}

/* Cuts the tensors into files in order; one larger than the limit has a file of its own. */
BOOT static void cut_files(struct plan *plan, int64_t most)
{
    int64_t bytes = 0;
    plan->files = 0;
    for (int64_t i = 0; i < plan->tensors; i++) {
        int64_t tensor = plan->tensor[i].shape[0] * plan->tensor[i].shape[1] * storage_bytes(plan->type);
        if (plan->files == 0 || bytes + tensor > most) {
            plan->file[plan->files++].first = i;
            bytes = 0;
        }
        bytes += tensor;
        plan->file[plan->files - 1].tensors++;
        plan->file_of[i] = (int32_t)plan->files - 1;
    }
    for (int64_t i = 0; i < plan->files; i++) {
        if (plan->files == 1)
            snprintf(plan->file[i].name, PLAN_NAME_BYTES, "model.safetensors");
        else
            snprintf(plan->file[i].name, PLAN_NAME_BYTES, "model-%05" PRId64 "-of-%05" PRId64 ".safetensors", i + 1, plan->files);
    }
}

BOOT static enum status render_headers(struct plan *plan)
{
    for (int64_t i = 0; i < plan->files; i++) {
        struct plan_file *file = &plan->file[i];
        file->header_bytes = -1;
        for (int64_t room = 1 << 16; file->header_bytes < 0; room *= 2) {
            free(file->header);
            file->header = malloc((size_t)room);
            if (file->header == NULL)
                return no_memory();
            file->header_bytes = safetensors_header(file->header, room, &plan->tensor[file->first], file->tensors, &file->bytes);
        }
        plan->bytes += file->bytes;
    }
    return OK;
}

BOOT enum status plan_make(struct plan *plan, enum storage type, int64_t file_bytes_most)
{
    *plan = (struct plan){ .type = type };
    for (int32_t pp = 0; pp < PP; pp++)
        for (int32_t i = 0; i < stages[pp].shards; i++)
            plan->tensors += plan_stores(&stages[pp].shard[i]);
    plan->tensor = calloc((size_t)plan->tensors, sizeof *plan->tensor);
    plan->file_of = calloc((size_t)plan->tensors, sizeof *plan->file_of);
    plan->file = calloc((size_t)plan->tensors, sizeof *plan->file);
    if (plan->tensor == NULL || plan->file_of == NULL || plan->file == NULL)
        return no_memory();
    for (int32_t pp = 0; pp < PP; pp++)
        for (int32_t i = 0; i < stages[pp].shards; i++)
            if (plan_stores(&stages[pp].shard[i]))
                fill_tensor(&plan->tensor[plan_index(pp, &stages[pp].shard[i])], &stages[pp].shard[i], type);
    cut_files(plan, file_bytes_most);
    return render_headers(plan);
}

BOOT void plan_free(struct plan *plan)
{
    for (int64_t i = 0; i < plan->files; i++)
        free(plan->file[i].header);
    free(plan->tensor);
    free(plan->file_of);
    free(plan->file);
    *plan = (struct plan){ 0 };
}
