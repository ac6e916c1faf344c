/* shelf.c: see shelf.h. Build host.
 *
 * (1) A span's buffers stand in the order of their offsets. */
#include "tools/layoutc/shelf.h"

#include <string.h>

struct span {
    const struct buffer **buffer; /* [room] */
    int32_t count, room;
    int32_t next; /* the first that shelf_gap has not seen */
};

static int32_t first_span(const struct shelf *shelf, const struct buffer *buffer)
{
    return buffer->first_step / shelf->span_steps;
}

static int32_t last_span(const struct shelf *shelf, const struct buffer *buffer)
{
    return buffer->last_step / shelf->span_steps;
}

struct shelf shelf_make(struct draft *draft, const struct buffer *buffer, int32_t count, int32_t steps)
{
    int64_t life_steps = 0;
    for (int32_t i = 0; i < count; i++)
        life_steps += (int64_t)buffer[i].last_step - buffer[i].first_step + 1;
    struct shelf shelf = { .span_steps = (int32_t)(1 + life_steps / (count + 1)) };
    shelf.spans = 1 + steps / shelf.span_steps;
    shelf.span = blocks_take(&draft->blocks, shelf.spans, sizeof *shelf.span);
    for (int32_t i = 0; i < count; i++)
        for (int32_t s = first_span(&shelf, &buffer[i]); s <= last_span(&shelf, &buffer[i]); s++)
            shelf.span[s].room++;
    for (int32_t s = 0; s < shelf.spans; s++)
        shelf.span[s].buffer = blocks_take(&draft->blocks, shelf.span[s].room, sizeof *shelf.span[s].buffer);
    return shelf;
}

void shelf_clear(struct shelf *shelf)
{
    for (int32_t s = 0; s < shelf->spans; s++)
        shelf->span[s].count = 0;
}

/* The lowest of the spans' next buffers, taken; NULL behind the last. One that lives in several spans comes once for each. */
static const struct buffer *take_lowest(const struct shelf *shelf, int32_t first, int32_t last)
{
    struct span *lowest = NULL;
    for (int32_t s = first; s <= last; s++) {
        struct span *span = &shelf->span[s];
        if (span->next < span->count && (lowest == NULL || span->buffer[span->next]->offset_bytes < lowest->buffer[lowest->next]->offset_bytes))
            lowest = span;
    }
    return lowest == NULL ? NULL : lowest->buffer[lowest->next++];
}

int64_t shelf_gap(const struct shelf *shelf, const struct buffer *buffer)
{
    int32_t first = first_span(shelf, buffer), last = last_span(shelf, buffer);
    int64_t at = 0;
    for (int32_t s = first; s <= last; s++)
        shelf->span[s].next = 0;
    for (const struct buffer *other; (other = take_lowest(shelf, first, last)) != NULL;) {
        if (other->first_step > buffer->last_step || buffer->first_step > other->last_step)
            continue;
        if (other->offset_bytes - at >= buffer->bytes)
            break;
        if (other->offset_bytes + other->bytes > at)
            at = other->offset_bytes + other->bytes;
    }
    return at;
}

void shelf_put(struct shelf *shelf, const struct buffer *buffer)
{
    for (int32_t s = first_span(shelf, buffer); s <= last_span(shelf, buffer); s++) {
        struct span *span = &shelf->span[s];
        ASSERT(span->count < span->room);
        int32_t low = 0, high = span->count;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (span->buffer[middle]->offset_bytes < buffer->offset_bytes)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(&span->buffer[low + 1], &span->buffer[low], (size_t)(span->count - low) * sizeof *span->buffer);
        span->buffer[low] = buffer;
        span->count++;
    }
}
