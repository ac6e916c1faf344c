/* table.c: see table.h. Build host. */
#include "tools/layoutc/table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/layoutc/chunks.h"

/* How far a micro-batch has come in a chunk of the stage being read. */
enum done { NOTHING_DONE, FORWARD_DONE, INPUT_DONE, ALL_DONE };

struct reader {
    const char *path;
    int line;
    int32_t stage, micro_batches;
    const struct layout_input *layout;
    int32_t backward[CHUNKS_MOST], weight[CHUNKS_MOST]; /* micro-batches that are next in these orders */
    enum done *done;                                    /* [chunks][micro_batches] */
};

static enum status wrong(const struct reader *r, const char *cell, const char *what)
{
    return fail(E_USAGE, "%s:%d: stage %d, cell \"%s\": %s", r->path, r->line, (int)r->stage, cell, what);
}

/* Whether the cell may stand where it stands, and what is done behind it. */
static enum status take(struct reader *r, const char *text, const struct cell *cell)
{
    enum done *done = &r->done[cell->chunk * r->micro_batches + cell->micro];
    switch (cell->kind) {
    case CELL_FORWARD:
        if (*done != NOTHING_DONE)
            return wrong(r, text, "its forward pass stands there before");
        *done = FORWARD_DONE;
        return OK;
    case CELL_BACKWARD:
    case CELL_INPUT:
        if (*done != FORWARD_DONE)
            return wrong(r, text, *done == NOTHING_DONE ? "its forward pass comes first" : "its backward pass stands there before");
        if (cell->micro != r->backward[cell->chunk]++)
            return wrong(r, text, "backward passes follow the micro-batches' order 0, 1, 2, so that no schedule changes a bit");
        *done = cell->kind == CELL_INPUT ? INPUT_DONE : ALL_DONE;
        if (cell->kind == CELL_INPUT)
            return OK;
        break;
    case CELL_WEIGHT:
        if (*done != INPUT_DONE)
            return wrong(r, text, "I of this micro-batch comes first, once");
        *done = ALL_DONE;
        break;
    case CELL_KINDS:
        break;
    }
    return cell->micro == r->weight[cell->chunk]++ ? OK : wrong(r, text, "gradients of weights (B, W) follow the micro-batches' order 0, 1, 2");
}

static enum status read_cell(struct reader *r, const char *text, struct cell *cell)
{
    static const char letters[] = "FBIW";
    char *end;
    const char *at = text;
    int32_t chunk = 0;
    if (isdigit((unsigned char)*at)) {
        long virtual_stage = strtol(at, &end, 10);
        if (virtual_stage >= r->layout->pp * r->layout->chunks || chunk_at(r->layout, virtual_stage).pp != r->stage)
            return wrong(r, text, "it is of another stage than its line");
        chunk = chunk_at(r->layout, virtual_stage).chunk;
        at = end;
    } else if (r->layout->chunks > 1) {
        return wrong(r, text, "with LAYOUT_CHUNKS a cell begins with its virtual stage, from 0 to LAYOUT_PP x LAYOUT_CHUNKS - 1");
    }
    const char *letter = *at == '\0' ? NULL : strchr(letters, *at);
    if (letter == NULL || !isdigit((unsigned char)at[1]))
        return wrong(r, text, "a cell is F, B, I or W and the number of a micro-batch");
    long micro = strtol(at + 1, &end, 10);
    if (*end != '\0' || micro >= r->micro_batches)
        return wrong(r, text, "the layout has no such micro-batch (LAYOUT_MICRO_BATCHES, make MICRO=)");
    *cell = (struct cell){ (enum cell_kind)(letter - letters), chunk, (int32_t)micro };
    return take(r, text, cell);
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static enum status read_line(struct draft *draft, struct reader *r, char *line)
{
    struct stage_table *table = &draft->table[r->stage];
    table->cell = blocks_take(&draft->blocks, CELLS_A_MICRO_BATCH_MOST * r->layout->chunks * r->micro_batches, sizeof *table->cell);
    memset(r->done, 0, (size_t)(r->layout->chunks * r->micro_batches) * sizeof *r->done);
    memset(r->backward, 0, sizeof r->backward);
    memset(r->weight, 0, sizeof r->weight);
    for (char *next = line; next != NULL;) {
        char *text = trimmed(strsep(&next, ","));
        if (*text != '\0')
            TRY(read_cell(r, text, &table->cell[table->cells++]));
    }
    for (int32_t i = 0; i < r->layout->chunks * r->micro_batches; i++) {
        int32_t m = i % r->micro_batches, c = i / r->micro_batches;
        char chunk[24] = "";
        if (r->layout->chunks > 1)
            snprintf(chunk, sizeof chunk, ", chunk %d", (int)c);
        if (r->done[i] != ALL_DONE)
            return fail(E_USAGE, "%s:%d: stage %d%s does not finish micro-batch %d: it needs F%d and B%d, or F%d, I%d and W%d", r->path, r->line,
                        (int)r->stage, chunk, (int)m, (int)m, (int)m, (int)m, (int)m, (int)m);
    }
    return OK;
}

static enum status read_file(struct draft *draft, FILE *file)
{
    const struct layout_input *l = &draft->input->layout;
    struct reader r = { .path = l->schedule_file, .layout = l, .micro_batches = (int32_t)l->micro_batches };
    r.done = blocks_take(&draft->blocks, l->chunks * l->micro_batches, sizeof *r.done);
    draft->table = blocks_take(&draft->blocks, l->pp, sizeof *draft->table);
    char *line = NULL;
    size_t room = 0;
    enum status status = OK;
    while (status == OK && getline(&line, &room, file) > 0) {
        char *text = trimmed(line);
        r.line++;
        if (*text == '\0' || *text == '#')
            continue;
        if (r.stage == l->pp)
            status = fail(E_USAGE, "%s:%d: a line for stage %d, but LAYOUT_PP of %s is %d", r.path, r.line, (int)r.stage, l->header, (int)l->pp);
        else
            status = read_line(draft, &r, text);
        r.stage++;
    }
    if (status == OK && ferror(file))
        status = fail(E_READ, "%s: cannot be read: %s", r.path, strerror(errno));
    free(line);
    if (status == OK && r.stage < l->pp)
        status = fail(E_USAGE, "%s: it has lines for %d stages, LAYOUT_PP of %s is %d", r.path, (int)r.stage, l->header, (int)l->pp);
    return status;
}

enum status table_read(struct draft *draft)
{
    const struct layout_input *l = &draft->input->layout;
    if (l->schedule != ORDER_TABLE)
        return OK;
    FILE *file = fopen(l->schedule_file, "r");
    if (file == NULL)
        return fail(E_READ, "%s: LAYOUT_SCHEDULE_FILE is \"%s\", which cannot be read: %s; it is a path from the project's top folder", l->header,
                    l->schedule_file, strerror(errno));
    enum status status = read_file(draft, file);
    fclose(file);
    return status;
}
