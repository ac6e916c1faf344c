/* fill.c: see fill.h. */
#include "tools/pack/fill.h"

#include "tools/pack/memory.h"

#include <stdlib.h>
#include <string.h>

#define NO_ROW UINT64_MAX

/* Open rows by the room they have left: a queue for each room, first opened first, and a bitmap of those that are not empty. */
struct shelves {
    uint64_t *head, *tail; /* [sequence + 1] row, or NO_ROW */
    uint64_t *next;        /* [rows] */
    uint64_t *filled;      /* bitmap over rooms */
    uint32_t sequence;
};

static void shelve(struct shelves *shelves, uint64_t row, uint32_t room)
{
    shelves->next[row] = NO_ROW;
    if (shelves->head[room] == NO_ROW)
        shelves->head[room] = row;
    else
        shelves->next[shelves->tail[room]] = row;
    shelves->tail[room] = row;
    shelves->filled[room / 64] |= 1ull << (room % 64);
}

/* Takes the first row with the least room that is at least tokens; NO_ROW if there is none. */
static uint64_t unshelve(struct shelves *shelves, uint32_t tokens, uint32_t *room)
{
    uint64_t bits = shelves->filled[tokens / 64] & ~0ull << (tokens % 64);
    uint32_t word = tokens / 64;
    while (bits == 0 && word < shelves->sequence / 64)
        bits = shelves->filled[++word];
    if (bits == 0)
        return NO_ROW;
    *room = word * 64 + (uint32_t)__builtin_ctzll(bits);
    uint64_t row = shelves->head[*room];
    shelves->head[*room] = shelves->next[row];
    if (shelves->head[*room] == NO_ROW)
        shelves->filled[*room / 64] &= ~(1ull << (*room % 64));
    return row;
}

/* Documents sorted by length, longest first, equals in their order: a counting sort. */
static uint64_t *longest_first(const uint32_t *tokens, uint64_t documents, uint32_t sequence)
{
    uint64_t *place = memory_take(((size_t)sequence + 2) * sizeof *place), *sorted = memory_take(documents * sizeof *sorted);
    memset(place, 0, ((size_t)sequence + 2) * sizeof *place);
    for (uint64_t d = 0; d < documents; d++)
        place[sequence - tokens[d] + 1]++;
    for (uint32_t i = 0; i < sequence + 1; i++)
        place[i + 1] += place[i];
    for (uint64_t d = 0; d < documents; d++)
        sorted[place[sequence - tokens[d]]++] = d;
    free(place);
    return sorted;
}

/* row_of[d]: the row of document d. Returns the number of rows. */
static uint64_t best_fit(uint64_t *row_of, const uint32_t *tokens, uint64_t documents, uint32_t sequence)
{
    struct shelves shelves = { .sequence = sequence };
    size_t rooms = (size_t)sequence + 1;
    shelves.head = memory_take(rooms * sizeof *shelves.head);
    shelves.tail = memory_take(rooms * sizeof *shelves.tail);
    shelves.next = memory_take(documents * sizeof *shelves.next);
    shelves.filled = memory_take((rooms / 64 + 1) * sizeof *shelves.filled);
    memset(shelves.head, 0xff, rooms * sizeof *shelves.head);
    memset(shelves.filled, 0, (rooms / 64 + 1) * sizeof *shelves.filled);
    uint64_t *sorted = longest_first(tokens, documents, sequence), rows = 0;
    for (uint64_t i = 0; i < documents; i++) {
        uint64_t d = sorted[i];
        uint32_t room = sequence;
        uint64_t row = unshelve(&shelves, tokens[d], &room);
        if (row == NO_ROW)
            row = rows++;
        row_of[d] = row;
        shelve(&shelves, row, room - tokens[d]);
    }
    free(sorted);
    free(shelves.head);
    free(shelves.tail);
    free(shelves.next);
    free(shelves.filled);
    return rows;
}

static uint64_t next_fit(uint64_t *row_of, const uint32_t *tokens, uint64_t documents, uint32_t sequence)
{
    uint64_t rows = 0;
    uint32_t room = 0;
    for (uint64_t d = 0; d < documents; d++) {
        if (tokens[d] > room) {
            rows++;
            room = sequence;
        }
        room -= tokens[d];
        row_of[d] = rows - 1;
    }
    return rows;
}

/* Numbers rows by their earliest document, and lists the documents of each. */
static void list_rows(struct filling *filling, uint64_t *row_of, uint64_t documents)
{
    uint64_t *number = memory_take(filling->rows * sizeof *number), numbered = 0;
    memset(number, 0xff, filling->rows * sizeof *number);
    for (uint64_t d = 0; d < documents; d++) {
        if (number[row_of[d]] == NO_ROW)
            number[row_of[d]] = numbered++;
        row_of[d] = number[row_of[d]];
    }
    memset(filling->first, 0, (filling->rows + 1) * sizeof *filling->first);
    for (uint64_t d = 0; d < documents; d++)
        filling->first[row_of[d] + 1]++;
    for (uint64_t r = 0; r < filling->rows; r++)
        filling->first[r + 1] += filling->first[r];
    memcpy(number, filling->first, filling->rows * sizeof *number);
    for (uint64_t d = 0; d < documents; d++)
        filling->order[number[row_of[d]]++] = d;
    free(number);
}

void fill_rows(struct filling *filling, const uint32_t *tokens, uint64_t documents, uint32_t sequence_tokens, enum order_policy policy)
{
    uint64_t *row_of = memory_take(documents * sizeof *row_of);
    for (uint64_t d = 0; d < documents; d++)
        ASSERT(tokens[d] >= 1 && tokens[d] <= sequence_tokens);
    if (policy == ORDER_FILL)
        filling->rows = best_fit(row_of, tokens, documents, sequence_tokens);
    else if (policy == ORDER_FILE)
        filling->rows = next_fit(row_of, tokens, documents, sequence_tokens);
    for (uint64_t d = 0; policy == ORDER_ALONE && d < documents; d++)
        row_of[d] = d;
    if (policy == ORDER_ALONE)
        filling->rows = documents;
    filling->order = memory_take(documents * sizeof *filling->order);
    filling->first = memory_take((filling->rows + 1) * sizeof *filling->first);
    list_rows(filling, row_of, documents);
    free(row_of);
}

void filling_close(struct filling *filling)
{
    free(filling->order);
    free(filling->first);
    *filling = (struct filling){ 0 };
}
