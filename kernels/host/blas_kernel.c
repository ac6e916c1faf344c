/* blas_kernel.c: OpenBLAS picks the kernels that suit the processor. Before main.
 *
 * Debian's archive (0.3.21) knows processors by their model numbers and falls back to kernels of 2004, a fifth of the speed, where a number is
 * newer than itself. Where that happened, the processor's own flags choose. The linker sends OpenBLAS's call here (--wrap in the Makefile).
 * (1) A choice that OpenBLAS or OPENBLAS_CORETYPE made is kept if it is of AVX2 or better. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

void __real_gotoblas_dynamic_init(void);
void __wrap_gotoblas_dynamic_init(void);
void gotoblas_dynamic_quit(void);
char *gotoblas_corename(void);

static bool of_avx2_or_better(const char *core)
{
    static const char *const cores[] = { "Haswell", "Zen", "SkylakeX", "Cooperlake" };
    for (int i = 0; i < ELEMENTS_OF(cores); i++)
        if (strcasecmp(core, cores[i]) == 0)
            return true;
    return false;
}

void __wrap_gotoblas_dynamic_init(void)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    __real_gotoblas_dynamic_init();
    __builtin_cpu_init();
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
    if (getenv(variable) != NULL || of_avx2_or_better(gotoblas_corename()) || !__builtin_cpu_supports("avx2"))
        return;
    if (setenv(variable, avx512 ? "SkylakeX" : "Haswell", 1) != 0)
        return;
    gotoblas_dynamic_quit();
    __real_gotoblas_dynamic_init();
    unsetenv(variable);
}
