/* jsontext.c: see jsontext.h. Build host and boot. */
#include "file/jsontext.h"

#include <inttypes.h>
#include <string.h>

#include "file/mapped.h"

/* Enough for 32,768 tensors in one header or 90,000 names in an index. jansson takes up to 250 bytes an object or array, 100 a value, and each text
 * once; a text of 2 MiB is twice the longest name that means anything. */
enum { CONTAINERS_MOST = 100000, VALUES_MOST = 300000, TEXT_BYTES_MOST = 2 << 20, TEXTS_BYTES_MOST = 12 << 20, REST_BYTES_MOST = 12 << 20 };

struct counts {
    int64_t containers, values, texts_bytes, rest_bytes;
};

/* Bytes of the text that begins behind the quote at text[at - 1]; a backslash takes the byte behind it along. */
static int64_t text_bytes(const char *text, int64_t bytes, int64_t at)
{
    int64_t begin = at;
    while (at < bytes && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return (at < bytes ? at : bytes) - begin;
}

/* What it is that the text has too much of; NULL: it may be parsed. Never reads past bytes. */
static const char *excess(const char *text, int64_t bytes)
{
    struct counts n = { .values = 1 };
    for (int64_t at = 0; at < bytes; at++) {
        switch (text[at]) {
        case '"': {
            int64_t length = text_bytes(text, bytes, at + 1);
            if (length > TEXT_BYTES_MOST)
                return "a text of more than 2 MiB";
            n.texts_bytes += length;
            at += length + 1;
            break;
        }
        case '{': case '[':
            n.containers++;
            n.values++;
            break;
        case ',':
            n.values++;
            break;
        case '}': case ']': case ':': case ' ': case '\t': case '\n': case '\r':
            break;
        default:
            n.rest_bytes++;
            break;
        }
        if (n.containers > CONTAINERS_MOST)
            return "more than 100000 objects and arrays";
        if (n.values > VALUES_MOST)
            return "more than 300000 values";
        if (n.texts_bytes > TEXTS_BYTES_MOST || n.rest_bytes > REST_BYTES_MOST)
            return "more than 12 MiB of texts or numbers";
    }
    return NULL;
}

enum status jsontext_parse(json_t **root, const char *path, const char *part, const char *text, int64_t bytes)
{
    json_error_t error;
    const char *much = excess(text, bytes);
    *root = NULL;
    if (much != NULL)
        return fail(E_DATA, "%s: %s%s: no such file is read", path, part, much);
    *root = json_loadb(text, (size_t)bytes, JSON_REJECT_DUPLICATES, &error);
    if (*root == NULL)
        return fail(E_DATA, "%s: %sline %d, byte %d: %s", path, part, error.line, error.position, error.text);
    return OK;
}

enum status jsontext_read(json_t **root, const char *path, int64_t bytes_most)
{
    struct mapped file;
    *root = NULL;
    TRY(mapped_open(&file, path));
    enum status status = OK;
    if (file.bytes == 0 || file.bytes > bytes_most)
        status = fail(E_DATA, "%s: %" PRId64 " bytes; 1 to %" PRId64 " are right", path, file.bytes, bytes_most);
    else
        status = jsontext_parse(root, path, "", (const char *)file.data, file.bytes);
    mapped_close(&file);
    return status;
}
