/* known.h: the keys that an object of tokenizer.json may have, and the type of each. Build host.
 *
 * (1) A key that is not known for the object's own "type", or whose value is of another type, may change the ids: it is an error that names the file, the key and the value seen. */
#ifndef TOOLS_PACK_KNOWN_H
#define TOOLS_PACK_KNOWN_H

#include <jansson.h>

#include "platform/status.h"

enum known_type { KNOWN_TEXT = 1, KNOWN_TRUTH = 2, KNOWN_WHOLE = 4, KNOWN_REAL = 8, KNOWN_ARRAY = 16, KNOWN_OBJECT = 32, KNOWN_NULL = 64 };
struct known {
    const char *key;
    int types;          /* of enum known_type, or'ed */
    const char *of;     /* the values of "type" that have the key, each with a space behind: "Split Digits "; NULL: all objects */
};

/* Checks object of file path; where says which it is, as "model". A key may be absent. Returns OK or E_DATA. */
MUST_USE enum status known_keys(const char *path, const char *where, const json_t *object, const struct known *known, int64_t count);

#endif
