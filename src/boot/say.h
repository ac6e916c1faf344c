/* say.h: the boot lines: "LOAD   0.8 M parameters from model.safetensors  3 ms", as a boot loader prints them.
 *
 * Phase: boot. Standard output; one line a call, flushed. */
#ifndef SRC_BOOT_SAY_H
#define SRC_BOOT_SAY_H

#include "platform/platform.h"

/* label is at most 6 letters; begin_ns is the clock when the step began, or 0: no time is printed. BOOT. */
void say(const char *label, int64_t begin_ns, const char *format, ...) PRINTF(3, 4);

/* A duration in words: "0.4 ms", "3 ms", "1.2 s", "3:05:00". */
struct duration_text {
    char text[32];
};
struct duration_text duration(double seconds);

#endif
