/* report.h: the table that pack closes with: rows in, rows kept, every reason for a loss with its first examples, tokens, targets, rows, fill. */
#ifndef TOOLS_PACK_REPORT_H
#define TOOLS_PACK_REPORT_H

#include "tools/pack/fill.h"
#include "tools/pack/select.h"

enum { EXAMPLES_SHOWN = 3 };

/* One file that was, or would be, written. */
struct product {
    const char *path;
    const struct selection *selection;
    uint64_t rows;
    uint32_t sequence_tokens;
};

/* Counts of the outcomes by reason. */
struct counts {
    int64_t rows, kept, broken, dropped;
    int64_t reason[REASONS];
    int64_t example[REASONS][EXAMPLES_SHOWN]; /* indices of rows */
};
void report_count(const struct rows *rows, const struct outcomes *outcomes, struct counts *counts);
/* Prints rows and reasons; then a line for each product. */
void report_rows(const struct rows *rows, const struct outcomes *outcomes, const struct counts *counts);
void report_product(const struct product *product);
/* A number with commas between thousands, in one of a few turning buffers. */
const char *report_number(int64_t number);

#endif
