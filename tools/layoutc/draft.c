/* draft.c: see draft.h. Build host. The order of the passes. */
#include "tools/layoutc/draft.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/layoutc/chunks.h"
#include "tools/layoutc/diagnose.h"
#include "tools/layoutc/groups.h"
#include "tools/layoutc/place.h"
#include "tools/layoutc/schedule.h"
#include "tools/layoutc/shards.h"
#include "tools/layoutc/table.h"

struct block {
    struct block *before;
    _Alignas(16) uint8_t bytes[];
};

void *blocks_take(struct blocks *blocks, int64_t count, int64_t bytes)
{
    ASSERT(count >= 0 && bytes > 0 && count <= (INT64_MAX - (int64_t)sizeof(struct block)) / bytes);
    struct block *block = calloc(1, sizeof *block + (size_t)(count * bytes));
    if (block == NULL)
        exit(fail(E_AGAIN, "no memory for %lld bytes", (long long)(count * bytes)));
    block->before = blocks->last;
    blocks->last = block;
    return block->bytes;
}

char *blocks_text(struct blocks *blocks, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    ASSERT(length >= 0);
    char *text = blocks_take(blocks, length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void blocks_free(struct blocks *blocks)
{
    while (blocks->last != NULL) {
        struct block *block = blocks->last;
        blocks->last = block->before;
        free(block);
    }
}

enum status draft_make_any_size(struct draft *draft, const struct input *input)
{
    *draft = (struct draft){ .input = input };
    TRY(diagnose_input(input));
    draft->share = share_of(input);
    TRY(table_read(draft));
    chunks_make(draft);
    groups_make(draft);
    shards_make(draft);
    schedule_make(draft);
    place_make(draft);
    return OK;
}

enum status draft_make(struct draft *draft, const struct input *input)
{
    TRY(draft_make_any_size(draft, input));
    return diagnose_memory(draft);
}

void draft_free(struct draft *draft)
{
    blocks_free(&draft->blocks);
}
