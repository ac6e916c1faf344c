/* number.c: see number.h. */
#include "save/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct number_text number_text(double value)
{
    struct number_text n = { "null" };
    for (int digits = 15; digits <= 17 && isfinite(value); digits++) {
        snprintf(n.text, sizeof n.text, "%.*g", digits, value);
        if (strtod(n.text, NULL) == value)
            break;
    }
    return n;
}
