/* tokenizer_bench.c: our tokenizer over the lines of a file, one thread. Prints MB/s, the best of three passes, each with a fresh encoder.
 *
 * usage: tokenizer_bench TOKENIZER_JSON FILE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"
#include "tools/pack/tokenizer.h"

int main(int argc, char **argv)
{
    status_program("tokenizer_bench");
    if (argc != 3)
        return fail(E_USAGE, "usage: tokenizer_bench TOKENIZER_JSON FILE");
    struct tokenizer *tokenizer;
    TRY(tokenizer_open(&tokenizer, argv[1]));
    FILE *file = fopen(argv[2], "r");
    if (file == NULL)
        return fail(E_READ, "%s cannot be read", argv[2]);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    ASSERT(text != NULL && fread(text, 1, size, file) == size);
    text[size] = '\n';
    int64_t best = INT64_MAX, ids = 0;
    for (int pass = 0; pass < 3; pass++) {
        struct encoder *encoder;
        int64_t begin = clock_ns();
        TRY(encoder_open(&encoder, tokenizer));
        ids = 0;
        for (size_t at = 0; at < size;) {
            struct tokens tokens;
            size_t end = at + strcspn(text + at, "\n");
            TRY(tokenizer_encode(encoder, text + at, end - at, false, &tokens));
            ids += tokens.count;
            at = end + 1;
        }
        encoder_close(encoder);
        best = clock_ns() - begin < best ? clock_ns() - begin : best;
    }
    printf("%.2f %lld\n", (double)size / (double)best * 1e3, (long long)ids);
    return OK;
}
