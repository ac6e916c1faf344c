/* convert.h: storage types to and from fp32. Any phase, any thread; allocates nothing; no state. Stored numbers are little-endian, at any address. */
#ifndef SRC_FILE_CONVERT_H
#define SRC_FILE_CONVERT_H

#include <stdint.h>

/* Exact: subnormals, infinities and NaN too. */
float convert_from_bf16(uint16_t x);
float convert_from_f16(uint16_t x);
/* The nearest, ties to even; beyond the largest: infinity. A NaN stays one. */
uint16_t convert_to_bf16(float x);
uint16_t convert_to_f16(float x);

/* y [elements] out; x the stored numbers. They do not overlap. */
void convert_read_f32(float *y, const uint8_t *x, int64_t elements);
void convert_read_bf16(float *y, const uint8_t *x, int64_t elements);
void convert_read_f16(float *y, const uint8_t *x, int64_t elements);
/* y out: the stored numbers; x [elements]. They do not overlap. */
void convert_write_f32(uint8_t *y, const float *x, int64_t elements);
void convert_write_bf16(uint8_t *y, const float *x, int64_t elements);
void convert_write_f16(uint8_t *y, const float *x, int64_t elements);

#endif
