/* report.c: see report.h. Prints to standard output. */
#include "tools/pack/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *report_number(int64_t number)
{
    static char buffers[8][32];
    static int turn;
    char digits[24], *out = buffers[turn++ % 8];
    int length = snprintf(digits, sizeof digits, "%" PRId64, number), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

static void count_reason(struct counts *counts, enum reason reason, int64_t row)
{
    if (counts->reason[reason] < EXAMPLES_SHOWN)
        counts->example[reason][counts->reason[reason]] = row;
    counts->reason[reason]++;
}

void report_count(const struct rows *rows, const struct outcomes *outcomes, struct counts *counts)
{
    *counts = (struct counts){ .rows = outcomes->count };
    for (int64_t r = 0; r < outcomes->count; r++) {
        const struct outcome *outcome = &outcomes->outcome[r];
        if (outcome->reason != REASON_NONE) {
            count_reason(counts, outcome->reason, r);
            counts->broken += REASON_IS_BROKEN(outcome->reason);
            counts->dropped += !REASON_IS_BROKEN(outcome->reason);
            continue;
        }
        counts->kept++;
        for (int reason = NOTED_CUT; reason < REASONS; reason++)
            if ((outcome->notes >> reason & 1) != 0 || (reason == NOTED_REPEATED && rows->row[r].uses > 1))
                count_reason(counts, (enum reason)reason, r);
    }
}

/* Text of the user's files, made safe to print. */
static void print_safe(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            printf("\\x%02x", (unsigned char)*text);
        else
            putchar(*text);
}

static void print_place(const struct rows *rows, const struct row *row, const struct refusal *refusal)
{
    const struct file *file = &rows->file[row->file];
    print_safe(file->path);
    printf(":%" PRIu64, row->line + (refusal != NULL && refusal->line > 1 ? (uint64_t)refusal->line - 1 : 0));
    if (refusal != NULL && refusal->column > 0)
        printf(":%d", refusal->column);
    if (file->form == FILE_ARRAY)
        printf(" (element %" PRIu64 ")", row->number);
}

static void print_reason(const struct rows *rows, const struct outcomes *outcomes, const struct counts *counts, enum reason reason)
{
    if (counts->reason[reason] == 0)
        return;
    printf("  %-44s %10s\n", reason_text(reason), report_number(counts->reason[reason]));
    for (int i = 0; i < EXAMPLES_SHOWN && i < counts->reason[reason] && reason != DROPPED_SHARE; i++) {
        int64_t r = counts->example[reason][i];
        const struct refusal *refusal = outcomes->outcome[r].refusal;
        printf("      ");
        print_place(rows, &rows->row[r], refusal);
        if (refusal != NULL && refusal->reason == reason && refusal->detail[0] != '\0') {
            printf("  ");
            print_safe(refusal->detail);
        }
        putchar('\n');
    }
}

void report_rows(const struct rows *rows, const struct outcomes *outcomes, const struct counts *counts)
{
    printf("rows in                                        %10s\n", report_number(counts->rows));
    for (int f = 0; f < rows->files && rows->files > 1; f++) {
        printf("  ");
        print_safe(rows->file[f].name);
        printf("%*s %10s%s\n", (int)strlen(rows->file[f].name) < 44 ? 44 - (int)strlen(rows->file[f].name) : 0, "",
               report_number(rows->file[f].rows), rows->file[f].held ? "  held out" : "");
    }
    printf("rows kept                                      %10s\n", report_number(counts->kept));
    printf("broken                                         %10s\n", report_number(counts->broken));
    for (int reason = 0; reason < DROPPED_SHARE; reason++)
        print_reason(rows, outcomes, counts, (enum reason)reason);
    printf("dropped                                        %10s\n", report_number(counts->dropped));
    for (int reason = DROPPED_SHARE; reason < NOTED_CUT; reason++)
        print_reason(rows, outcomes, counts, (enum reason)reason);
    bool any = false;
    for (int reason = NOTED_CUT; reason < REASONS; reason++)
        any = any || counts->reason[reason] > 0;
    if (any)
        printf("kept, but\n");
    for (int reason = NOTED_CUT; reason < REASONS; reason++)
        print_reason(rows, outcomes, counts, (enum reason)reason);
}

void report_product(const struct product *product)
{
    const struct selection *selection = product->selection;
    double room = (double)product->rows * product->sequence_tokens;
    print_safe(product->path);
    printf("\n  %s rows as %s documents: %s tokens, %s targets; %s packed rows of %s, fill %.1f %%\n", report_number(selection->rows),
           report_number((int64_t)selection->documents), report_number(selection->tokens), report_number(selection->targets),
           report_number((int64_t)product->rows), report_number(product->sequence_tokens), 100.0 * (double)selection->tokens / room);
    printf("  steps of an epoch: %s / rows of a global batch, rounded up\n", report_number((int64_t)product->rows));
}
