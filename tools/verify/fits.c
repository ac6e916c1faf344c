/* fits.c: every rank within its device. See verify.h. */
#include <inttypes.h>

#include "tools/verify/verify.h"

enum status prove_fits(const struct tables *t, const struct facts *f)
{
    int64_t fullest = 0;
    for (int s = 0; s < f->pp; s++) {
        const struct stage *stage = &t->stage[s];
        if (stage->arena_bound_bytes > stage->arena_bytes)
            return fail(E_SOFTWARE, "fits: stage %d: an arena of %" PRId64 " bytes is below its bound of %" PRId64, s, stage->arena_bytes,
                        stage->arena_bound_bytes);
        if (stage->arena_bytes > fullest)
            fullest = stage->arena_bytes;
    }
    if (t->arena_bytes != fullest)
        return fail(E_SOFTWARE, "fits: arena_bytes is %" PRId64 ", the fullest stage has %" PRId64, t->arena_bytes, fullest);
    if (fullest > f->device_memory_bytes)
        return fail(E_SOFTWARE, "fits: the fullest rank takes %" PRId64 " bytes, BOARD_DEVICE_MEMORY_BYTES is %" PRId64, fullest,
                    f->device_memory_bytes);
    return OK;
}
