/* families.h: chat templates that can be had by name, for a model that brings none. */
#ifndef TOOLS_PACK_FAMILIES_H
#define TOOLS_PACK_FAMILIES_H

#include <stddef.h>

/* source is Jinja; settings are what the name stands for beyond it ("key=value"), or NULL. */
struct family {
    const char *name, *source, *settings;
};

/* The family of that name, or NULL. index counts from 0: NULL behind the last. */
const struct family *family_find(const char *name);
const struct family *family_at(int index);

#endif
