/* place.c: see place.h. Build host.
 *
 * Buffers of the whole program lie first, in the order of their kinds. The others share the rest: those of training and those of evaluation each
 * from the same start, since the two programs never run at once. Within a program this is dynamic storage allocation, NP-hard in general;
 * buffers here come in few sizes and their lives nest, and the lowest gap that is free for a whole life is near the bound. Three orders are
 * tried (larger first; longer-lived first; born first) and the best is kept.
 * (1) The same inputs give the same offsets: every order is total.
 * (2) Offsets and sizes are multiples of ARENA_ALIGN_BYTES. */
#include "tools/layoutc/place.h"

#include <stdlib.h>
#include <string.h>

#include "tools/layoutc/shelf.h"

/* ---- orders ---- */

static int by_index(const struct buffer *a, const struct buffer *b)
{
    return a < b ? -1 : a > b; /* both lie in one array */
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int larger_first(const void *left, const void *right)
{
    const struct buffer *a = *(struct buffer *const *)left, *b = *(struct buffer *const *)right;
    int order = compare(b->bytes, a->bytes);
    if (order == 0)
        order = compare((int64_t)b->last_step - b->first_step, (int64_t)a->last_step - a->first_step);
    return order != 0 ? order : by_index(a, b);
}

static int longer_first(const void *left, const void *right)
{
    const struct buffer *a = *(struct buffer *const *)left, *b = *(struct buffer *const *)right;
    int order = compare((int64_t)b->last_step - b->first_step, (int64_t)a->last_step - a->first_step);
    if (order == 0)
        order = compare(b->bytes, a->bytes);
    return order != 0 ? order : by_index(a, b);
}

static int born_first(const void *left, const void *right)
{
    const struct buffer *a = *(struct buffer *const *)left, *b = *(struct buffer *const *)right;
    int order = compare(a->first_step, b->first_step);
    if (order == 0)
        order = compare(b->bytes, a->bytes);
    return order != 0 ? order : by_index(a, b);
}

/* ---- one program ---- */

/* Puts buffers into the lowest gaps, in the order given. Returns the height. */
static int64_t fill_lowest(struct buffer **buffer, int32_t count, struct shelf *shelf)
{
    int64_t height = 0;
    shelf_clear(shelf);
    for (int32_t i = 0; i < count; i++) {
        buffer[i]->offset_bytes = shelf_gap(shelf, buffer[i]);
        shelf_put(shelf, buffer[i]);
        if (buffer[i]->offset_bytes + buffer[i]->bytes > height)
            height = buffer[i]->offset_bytes + buffer[i]->bytes;
    }
    return height;
}

/* The largest sum of sizes that live at one step. */
static int64_t bound_of(struct buffer **buffer, int32_t count, int32_t steps, int64_t *change)
{
    memset(change, 0, ((size_t)steps + 1) * sizeof *change);
    for (int32_t i = 0; i < count; i++) {
        ASSERT(buffer[i]->first_step >= 0 && buffer[i]->last_step < steps && buffer[i]->first_step <= buffer[i]->last_step);
        change[buffer[i]->first_step] += buffer[i]->bytes;
        change[buffer[i]->last_step + 1] -= buffer[i]->bytes;
    }
    int64_t live = 0, most = 0;
    for (int32_t s = 0; s < steps; s++) {
        live += change[s];
        if (live > most)
            most = live;
    }
    return most;
}

struct height {
    int64_t placed, bound;
};

static struct height place_program(struct draft *draft, struct buffer *first, int32_t count, int32_t steps, int64_t base)
{
    static int (*const orders[])(const void *, const void *) = { larger_first, longer_first, born_first };
    struct buffer **buffer = blocks_take(&draft->blocks, count, sizeof(struct buffer *));
    int64_t *best = blocks_take(&draft->blocks, count, sizeof *best), *change = blocks_take(&draft->blocks, steps + 1LL, sizeof *change);
    for (int32_t i = 0; i < count; i++)
        buffer[i] = &first[i];
    struct shelf shelf = shelf_make(draft, first, count, steps);
    struct height height = { .placed = INT64_MAX, .bound = bound_of(buffer, count, steps, change) };
    for (int o = 0; o < (int)ELEMENTS_OF(orders) && height.placed > height.bound; o++) {
        qsort(buffer, (size_t)count, sizeof *buffer, orders[o]);
        int64_t placed_bytes = fill_lowest(buffer, count, &shelf);
        if (placed_bytes < height.placed) {
            height.placed = placed_bytes;
            for (int32_t i = 0; i < count; i++)
                best[i] = first[i].offset_bytes;
        }
    }
    for (int32_t i = 0; i < count; i++)
        first[i].offset_bytes = base + best[i];
    return height;
}

/* ---- a stage ---- */

/* Buffers of the two programs follow each other: the first that evaluation's first step names begins the second part. */
static void place_stage(struct draft *draft, int32_t pp)
{
    struct stage *stage = &draft->stage[pp];
    struct buffer *buffer = draft->buffer[pp];
    int64_t base = 0;
    int32_t whole = 0, evaluation = stage->evaluate.step[0].batch;
    for (; whole < stage->buffers && buffer[whole].last_step == INT32_MAX; whole++) {
        buffer[whole].offset_bytes = base;
        base += buffer[whole].bytes;
    }
    struct height train = place_program(draft, buffer + whole, evaluation - whole, stage->train.steps, base);
    struct height evaluate = place_program(draft, buffer + evaluation, stage->buffers - evaluation, stage->evaluate.steps, base);
    stage->arena_bytes = base + (train.placed > evaluate.placed ? train.placed : evaluate.placed);
    stage->arena_bound_bytes = base + (train.bound > evaluate.bound ? train.bound : evaluate.bound);
}

static int64_t slots_offset(const struct draft *draft, int32_t pp)
{
    for (int32_t i = 0; i < draft->stage[pp].buffers; i++)
        if (draft->buffer[pp][i].kind == BUFFER_SLOTS)
            return draft->buffer[pp][i].offset_bytes;
    return NONE;
}

/* A rank's slots, chunk by chunk: what comes forward, then what comes back. */
static void place_slots(struct draft *draft, const struct rank_row *row, int64_t offset)
{
    for (int32_t c = 0; c < draft->stage[row->pp].chunks; c++)
        for (int direction = CHANNEL_FORWARD_IN; direction <= CHANNEL_BACKWARD_IN; direction += CHANNEL_BACKWARD_IN - CHANNEL_FORWARD_IN) {
            if (row->channel[c][direction] == NONE)
                continue;
            struct comm_channel *channel = &draft->channel[row->channel[c][direction]];
            channel->slots_offset_bytes = offset;
            offset += channel->slots * channel->slot_bytes;
        }
}

void place_make(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    int64_t *slots = blocks_take(&draft->blocks, l->pp, sizeof *slots);
    for (int32_t s = 0; s < l->pp; s++) {
        place_stage(draft, s);
        slots[s] = slots_offset(draft, s);
        if (draft->stage[s].arena_bytes > draft->arena_bytes) {
            draft->arena_bytes = draft->stage[s].arena_bytes;
            draft->fullest = s;
        }
    }
    for (int64_t rank = 0; rank < draft->share.ranks; rank++)
        place_slots(draft, &draft->row[rank], slots[draft->row[rank].pp]);
}
