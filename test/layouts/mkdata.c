/* mkdata.c: a packed data file for tests that need no tokenizer.
 *
 * usage: mkdata OUT SEQUENCE ROWS VOCABULARY SEED
 * Documents are sequences that a small model can learn: each token follows from the one before by a rule of the document's own, with some
 * noise. Lengths run from one token to a whole row; the first third of a document is not learned. */
#include <stdlib.h>
#include <string.h>

#include "file/packfile.h"
#include "kernels/kernels.h"

static uint32_t draw(uint64_t seed, uint64_t *count, uint32_t below)
{
    return philox(seed, 0, (*count)++).word[0] % below;
}

int main(int argc, char **argv)
{
    status_program("mkdata");
    if (argc != 6)
        return fail(E_USAGE, "usage: mkdata OUT SEQUENCE ROWS VOCABULARY SEED");
    uint32_t sequence = (uint32_t)atoi(argv[2]), rows = (uint32_t)atoi(argv[3]), vocabulary = (uint32_t)atoi(argv[4]);
    uint64_t seed = strtoull(argv[5], NULL, 10), count = 0, documents = 0, tokens = 0;
    size_t most = (size_t)rows * sequence;
    struct pack_document *document = calloc(most, sizeof *document);
    uint64_t *order = calloc(most, sizeof *order), *first = calloc(rows + 1, sizeof *first);
    int32_t *token = calloc(most, sizeof *token);
    uint8_t *learned = calloc(most, 1);
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t room = sequence, dull = draw(seed, &count, 4);
        while (room > (row % 3 == 0 ? dull : 0)) {
            uint32_t length = room > 2 && draw(seed, &count, 8) == 0 ? 1 : 1 + draw(seed, &count, room);
            uint32_t step = 1 + draw(seed, &count, 5), value = draw(seed, &count, vocabulary);
            /* A row needs a target, so its first document has at least two tokens. */
            if (room == sequence && length < 4)
                length = 4;
            document[documents] = (struct pack_document){
                .token = token + tokens, .learned = learned + tokens, .tokens = length, .source = { .line = documents + 1 },
            };
            for (uint32_t t = 0; t < length; t++) {
                token[tokens + t] = (int32_t)value;
                learned[tokens + t] = t > 0 && t >= length / 3;
                value = draw(seed, &count, 10) == 0 ? draw(seed, &count, vocabulary) : (value + step) % vocabulary;
            }
            order[documents] = documents;
            documents++;
            tokens += length;
            room -= length;
        }
        first[row + 1] = documents;
    }
    struct pack_header header = { .sequence_tokens = sequence, .vocabulary = vocabulary };
    strcpy(header.files[0], "mkdata");
    return pack_write(argv[1], &header, document, order, first, rows);
}
