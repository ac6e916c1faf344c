/* order.h: in which order the rows of a data file are learned. A pure function: seeking costs nothing, no state is kept.
 *
 * Phase: steady. (1) For each (seed, epoch) the rows are permuted, each exactly once. (2) Ranks and layout are no inputs. */
#ifndef SRC_RUN_ORDER_H
#define SRC_RUN_ORDER_H

#include <stdint.h>

/* The row at position (in [0, rows)) of an epoch. About 0.3 us. A Feistel network of six rounds over the next power of four, walked
 * until it falls inside (Black and Rogaway 2002, Ciphers with Arbitrary Finite Domains, method 2); rounds by Philox. */
int64_t order_row(uint64_t seed, int64_t epoch, int64_t position, int64_t rows);

#endif
