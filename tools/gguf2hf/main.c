/* main.c: a Hugging Face folder from one GGUF file. Build host.
 *
 * usage: gguf2hf FILE.gguf FOLDER [--type bf16 | f32] */
#include <string.h>

#include "tools/gguf2hf/gguf2hf.h"

int main(int argc, char **argv)
{
    status_program("gguf2hf");
    bool f32 = argc == 5 && strcmp(argv[4], "f32") == 0, bf16 = argc == 5 && strcmp(argv[4], "bf16") == 0;
    if (argc != 3 && !(argc == 5 && strcmp(argv[3], "--type") == 0 && (f32 || bf16)))
        return fail(E_USAGE, "usage: gguf2hf FILE.gguf FOLDER [--type bf16 | f32]");
    return gguf2hf(argv[1], argv[2], f32 ? TENSOR_F32 : TENSOR_BF16);
}
