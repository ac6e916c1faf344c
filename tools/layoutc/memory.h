/* memory.h: what a stage's arena holds, by kind. Read by the report and by the message about memory. */
#ifndef TOOLS_LAYOUTC_MEMORY_H
#define TOOLS_LAYOUTC_MEMORY_H

#include "tools/layoutc/draft.h"

struct memory_map {
    int32_t buffers[BUFFER_KINDS];    /* of the program that needs more */
    int64_t all_bytes[BUFFER_KINDS];  /* each buffer with a place of its own */
    int64_t full_bytes[BUFFER_KINDS]; /* live at the fullest step; adds up to arena_bound_bytes */
    bool evaluation;                  /* the fullest step is one of the evaluation program */
    int32_t fullest_step;
    int64_t all_sum;
};

struct memory_map memory_map_of(const struct stage *stage);

/* "parameters", "saved activations", ... */
const char *memory_name(enum buffer_kind kind);

/* "2.61 GiB", "38.4 MiB", "512 bytes" into text. */
enum { BYTES_TEXT_BYTES = 32 };
const char *bytes_text(char text[BYTES_TEXT_BYTES], int64_t bytes);

#endif
