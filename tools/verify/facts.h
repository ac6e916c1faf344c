/* facts.h: the inputs of the image that verify is linked with. */
#ifndef TOOLS_VERIFY_FACTS_H
#define TOOLS_VERIFY_FACTS_H

#include "tools/verify/verify.h"

struct facts facts_of_image(void);

#endif
