/* chat_inside.h: what chat.c and chat_spans.c share. */
#ifndef TOOLS_PACK_CHAT_INSIDE_H
#define TOOLS_PACK_CHAT_INSIDE_H

#include "tools/pack/chat.h"

#include <string.h>

struct chat {
    char name[64];
    struct jinja *jinja, *tools_jinja; /* NULL: none */
    uint64_t hash;
    json_t *variables; /* special tokens, then settings */
    char *eos;
    char *header; /* the generation prompt, less what settings change in it */
    uint32_t header_bytes;
    bool marks_generation, knows_reasoning;
};

#endif
