/* memory.c: see memory.h. Build host. */
#include "tools/layoutc/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *memory_name(enum buffer_kind kind)
{
    static const char *const names[BUFFER_KINDS] = {
        "parameters",         "gradients", "first moments", "second moments",    "master weights",     "rotary table", "message slots",
        "checkpoint staging", "batches",   "layer inputs",  "saved activations", "saved attention", "kept gradients", "residual gradients", "gathered parameters",
        "gradients of a bucket", "gradients of a tied head", "scratch",
    };
    return names[kind];
}

const char *bytes_text(char text[BYTES_TEXT_BYTES], int64_t bytes)
{
    static const struct {
        int shift, digits;
        const char *unit;
    } units[] = { { 30, 2, "GiB" }, { 20, 1, "MiB" }, { 10, 1, "KiB" } };
    for (int i = 0; i < ELEMENTS_OF(units); i++)
        if (bytes >= 1LL << units[i].shift) {
            snprintf(text, BYTES_TEXT_BYTES, "%.*f %s", units[i].digits, (double)bytes / (double)(1LL << units[i].shift), units[i].unit);
            return text;
        }
    snprintf(text, BYTES_TEXT_BYTES, "%" PRId64 " bytes", bytes);
    return text;
}

static bool whole_program(const struct buffer *buffer)
{
    return buffer->last_step == INT32_MAX;
}

/* The first step of the program at which buffers [first, end), which are its own, take the most; *most is what they take. */
static int32_t fullest_step(const struct stage *stage, int32_t first, int32_t end, int32_t steps, int64_t *most)
{
    int64_t *change = calloc((size_t)steps + 1, sizeof *change), live = 0;
    int32_t fullest = 0;
    if (change == NULL)
        exit(fail(E_AGAIN, "no memory for %d steps", (int)steps));
    for (int32_t i = first; i < end; i++) {
        change[stage->buffer[i].first_step] += stage->buffer[i].bytes;
        change[stage->buffer[i].last_step + 1] -= stage->buffer[i].bytes;
    }
    *most = 0;
    for (int32_t step = 0; step < steps; step++) {
        live += change[step];
        if (live > *most) {
            *most = live;
            fullest = step;
        }
    }
    free(change);
    return fullest;
}

/* Buffers [first, end) are those of one program: adds them to map as they stand at its fullest step, if that is fuller than before. */
static void look_at_program(struct memory_map *map, int64_t *fullest, const struct stage *stage, int32_t first, int32_t end,
                            const struct program *program, bool evaluation)
{
    int64_t live[BUFFER_KINDS] = { 0 }, most;
    int32_t step = fullest_step(stage, first, end, program->steps, &most);
    if (most <= *fullest)
        return;
    for (int32_t i = first; i < end; i++)
        if (stage->buffer[i].first_step <= step && step <= stage->buffer[i].last_step)
            live[stage->buffer[i].kind] += stage->buffer[i].bytes;
    *fullest = most;
    map->evaluation = evaluation;
    map->fullest_step = step;
    for (int kind = BUFFER_BATCH; kind < BUFFER_KINDS; kind++)
        map->full_bytes[kind] = live[kind];
}

struct memory_map memory_map_of(const struct stage *stage)
{
    struct memory_map map = { 0 };
    int32_t whole = 0, evaluation = stage->evaluate.step[0].batch;
    int64_t fullest = 0;
    for (; whole < stage->buffers && whole_program(&stage->buffer[whole]); whole++) {
        map.buffers[stage->buffer[whole].kind]++;
        map.all_bytes[stage->buffer[whole].kind] = map.full_bytes[stage->buffer[whole].kind] = stage->buffer[whole].bytes;
    }
    look_at_program(&map, &fullest, stage, whole, evaluation, &stage->train, false);
    look_at_program(&map, &fullest, stage, evaluation, stage->buffers, &stage->evaluate, true);
    int32_t first = map.evaluation ? evaluation : whole, end = map.evaluation ? stage->buffers : evaluation;
    for (int32_t i = first; i < end; i++) {
        map.buffers[stage->buffer[i].kind]++;
        map.all_bytes[stage->buffer[i].kind] += stage->buffer[i].bytes;
    }
    for (int kind = 0; kind < BUFFER_KINDS; kind++)
        map.all_sum += map.all_bytes[kind];
    return map;
}
