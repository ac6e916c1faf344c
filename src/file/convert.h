/* convert.h: storage types to and from fp32. Any phase; allocates nothing; any alignment. */
#ifndef SRC_FILE_CONVERT_H
#define SRC_FILE_CONVERT_H

#include <stdint.h>

float convert_from_bf16(uint16_t x);
float convert_from_f16(uint16_t x);      /* subnormals, infinities and NaN too */

/* y [elements] out; x holds elements 4-byte or 2-byte little-endian numbers at any address. */
void convert_f32(float *y, const uint8_t *x, int64_t elements);
void convert_bf16(float *y, const uint8_t *x, int64_t elements);
void convert_f16(float *y, const uint8_t *x, int64_t elements);

#endif
