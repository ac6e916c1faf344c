/* known.h: the keys that an object of tokenizer.json may have, and the type of each. Build host.
 *
 * (1) A key that is not known for the object's own "type", or whose value is of another type, may change the ids: it is an error that names the file, the key and the value seen. */
#ifndef TOOLS_PACK_KNOWN_H
#define TOOLS_PACK_KNOWN_H

#include <jansson.h>

#include "platform/status.h"

enum known_type { KNOWN_TEXT = 1, KNOWN_TRUTH = 2, KNOWN_WHOLE = 4, KNOWN_REAL = 8, KNOWN_ARRAY = 16, KNOWN_OBJECT = 32, KNOWN_NULL = 64, KNOWN_NEEDED = 128 };
struct known {
    const char *key;
    int types;          /* of enum known_type, or'ed; with KNOWN_NEEDED the key may not be absent */
    const char *of;     /* the values of "type" that have the key, each with a space behind: "Split Digits "; NULL: all objects */
};

/* Checks object of file path; where says which it is, as "model". Returns OK or E_DATA, also if it is no object. */
MUST_USE enum status known_keys(const char *path, const char *where, const json_t *object, const struct known *known, int64_t count);
/* Gives the "type" of an object, which is one of types ("NFC, NFD"). Returns OK or E_DATA. type lives as long as object. */
MUST_USE enum status known_type(const char *path, const char *where, const json_t *object, const char *types, const char **type);

/* Where a part of an object is: "normalizer.normalizers[2]". A longer one is cut. */
enum { WHERE_BYTES = 240 };
void known_part(char part[WHERE_BYTES], const char *where, const char *list, size_t index);

/* A text or truth value of an object; NULL or fallback where it is none. */
const char *json_text(const json_t *object, const char *key);
bool json_truth(const json_t *object, const char *key, bool fallback);
/* Whether text (UTF-8, not NULL) is one character. */
bool json_is_character(const char *text);

#endif
