/* select.c: see select.h. */
#include "tools/pack/select.h"

#include <stdlib.h>
#include <unistd.h>

static bool is_kept(const struct outcome *outcome)
{
    return outcome->reason == REASON_NONE && outcome->documents > 0;
}

static void put(struct selection *selection, const struct outcome *outcome)
{
    for (uint32_t d = 0; d < outcome->documents; d++) {
        const struct pack_document *document = &outcome->document[d];
        MEMORY_ROOM(selection->document, selection->documents, selection->room);
        selection->document[selection->documents++] = *document;
        selection->tokens += document->tokens;
        for (uint32_t t = 1; t < document->tokens; t++)
            selection->targets += document->learned[t];
    }
}

/* Hashes below this are held out. */
static uint64_t held_bound(const struct rows *rows, const struct outcomes *outcomes, double ratio)
{
    uint64_t bound = (uint64_t)(ratio * 0x1p64), smallest = UINT64_MAX;
    if (ratio <= 0.0)
        return 0;
    for (int64_t r = 0; r < outcomes->count; r++)
        if (is_kept(&outcomes->outcome[r]) && !rows->file[rows->row[r].file].held && outcomes->outcome[r].identity < smallest)
            smallest = outcomes->outcome[r].identity;
    return smallest < bound || smallest == UINT64_MAX ? bound : smallest + 1;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return (one > two) - (one < two);
}

/* Counts kept rows that say the same as a row of a held-out file. */
static int64_t count_shared(const struct rows *rows, const struct outcomes *outcomes)
{
    uint64_t *identity = memory_take((size_t)outcomes->count * sizeof *identity);
    int64_t held = 0, shared = 0;
    for (int64_t r = 0; r < outcomes->count; r++)
        if (rows->file[rows->row[r].file].held && is_kept(&outcomes->outcome[r]))
            identity[held++] = outcomes->outcome[r].identity;
    qsort(identity, (size_t)held, sizeof *identity, by_value);
    for (int64_t r = 0; r < outcomes->count; r++)
        if (!rows->file[rows->row[r].file].held && is_kept(&outcomes->outcome[r]))
            shared += bsearch(&outcomes->outcome[r].identity, identity, (size_t)held, sizeof *identity, by_value) != NULL;
    free(identity);
    return shared;
}

enum status select_check(const struct rows *rows, const struct outcomes *outcomes)
{
    /* A document's place in the selection, which doubles while it grows, and in the rows that fill_rows makes. */
    const double bytes_a_document = 3.0 * sizeof(struct pack_document) + 64.0;
    double documents = 0, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int64_t r = 0; r < outcomes->count; r++)
        if (is_kept(&outcomes->outcome[r]))
            documents += (double)rows->row[r].uses * outcomes->outcome[r].documents;
    if (documents * bytes_a_document > memory)
        return fail(E_USAGE, "the shares behind \"#\" make %.0f documents, for which %.0f GiB of memory are needed; the machine has %.0f", documents,
                    documents * bytes_a_document / 0x1p30, memory / 0x1p30);
    return OK;
}

void select_documents(const struct rows *rows, const struct outcomes *outcomes, double held_ratio, struct selection *learn,
                      struct selection *held, int64_t *shared)
{
    uint64_t bound = held_bound(rows, outcomes, held_ratio);
    for (int f = 0; f < rows->files; f++) {
        const struct file *file = &rows->file[f];
        bool again = true;
        for (uint32_t pass = 0; again; pass++) {
            again = false;
            for (int64_t r = file->first; r < file->first + file->rows; r++) {
                const struct outcome *outcome = &outcomes->outcome[r];
                if (!is_kept(outcome) || rows->row[r].uses <= pass)
                    continue;
                bool goes_held = file->held || outcome->identity < bound;
                if (goes_held && pass > 0)
                    continue;
                again = again || (!goes_held && rows->row[r].uses > pass + 1);
                put(goes_held ? held : learn, outcome);
                (goes_held ? held : learn)->rows += pass == 0;
            }
        }
    }
    *shared = count_shared(rows, outcomes);
}

void selection_close(struct selection *selection)
{
    free(selection->document);
    *selection = (struct selection){ 0 };
}
