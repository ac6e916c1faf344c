/* golden_pack.c: rows.json of a fixture as a packed file whose rows come in the fixture's order.
 *
 * usage: golden_pack ROWS_JSON OUT SEED
 * The image shuffles rows by seed; row p of the fixture is put where the order of epoch 0 finds it at position p. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "file/packfile.h"
#include "run/order.h"

int main(int argc, char **argv)
{
    status_program("golden_pack");
    if (argc != 4)
        return fail(E_USAGE, "usage: golden_pack ROWS_JSON OUT SEED");
    json_error_t error;
    json_t *root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error), *rows = json_object_get(root, "rows");
    if (root == NULL)
        return fail(E_DATA, "%s:%d: %s", argv[1], error.line, error.text);
    size_t sequence = (size_t)json_integer_value(json_object_get(root, "sequence")), count = json_array_size(rows), most = count * sequence, documents = 0, tokens = 0;
    struct pack_document *document = calloc(most, sizeof *document);
    uint64_t *order = calloc(most, sizeof *order), *first = calloc(count + 1, sizeof *first);
    int32_t *token = calloc(most, sizeof *token);
    uint8_t *learned = calloc(most, 1);
    size_t *row_at = calloc(count, sizeof *row_at);
    for (size_t p = 0; p < count; p++)
        row_at[order_row(strtoull(argv[3], NULL, 10), 0, (int64_t)p, (int64_t)count)] = p;
    for (size_t row = 0; row < count; row++) {
        json_t *one;
        size_t d;
        json_array_foreach(json_array_get(rows, row_at[row]), d, one) {
            json_t *ids = json_object_get(one, "ids"), *flags = json_object_get(one, "learned");
            size_t length = json_array_size(ids);
            document[documents] = (struct pack_document){
                .token = token + tokens, .learned = learned + tokens, .tokens = (uint32_t)length, .source = { .line = row_at[row] + 1 },
            };
            for (size_t t = 0; t < length; t++) {
                token[tokens + t] = (int32_t)json_integer_value(json_array_get(ids, t));
                learned[tokens + t] = (uint8_t)json_integer_value(json_array_get(flags, t));
            }
            order[documents] = documents;
            documents++;
            tokens += length;
        }
        first[row + 1] = documents;
    }
    struct pack_header header = { .sequence_tokens = (uint32_t)sequence, .vocabulary = 259 };
    strcpy(header.files[0], "rows.json");
    return pack_write(argv[2], &header, document, order, first, count);
}
