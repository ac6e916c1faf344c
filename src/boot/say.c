/* say.c: see say.h. Phase: boot. */
#include "boot/say.h"

#include <inttypes.h>
#include <stdio.h>

BOOT struct duration_text duration(double seconds)
{
    struct duration_text d;
    int64_t whole = seconds < 1e15 ? (int64_t)(seconds + 0.5) : 0;
    if (seconds < 0.00995)
        snprintf(d.text, sizeof d.text, "%.1f ms", 1e3 * seconds);
    else if (seconds < 0.9995)
        snprintf(d.text, sizeof d.text, "%.0f ms", 1e3 * seconds);
    else if (seconds < 60)
        snprintf(d.text, sizeof d.text, "%.1f s", seconds);
    else
        snprintf(d.text, sizeof d.text, "%" PRId64 ":%02d:%02d", whole / 3600, (int)(whole / 60 % 60), (int)(whole % 60));
    return d;
}

BOOT void say(const char *label, int64_t begin_ns, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%-6s ", label);
    vprintf(format, arguments);
    va_end(arguments);
    if (begin_ns > 0)
        printf("  %s", duration((double)(clock_ns() - begin_ns) / 1e9).text);
    putchar('\n');
    fflush(stdout);
}
