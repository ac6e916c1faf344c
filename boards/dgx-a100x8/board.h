/* boards/dgx-a100x8/board.h: one DGX A100, eight A100 80 GB devices (SXM4) behind NVSwitch.
 * Source of the rates: NVIDIA A100 Tensor Core GPU data sheet, 80 GB SXM column. */
#define BOARD_NAME                           "dgx-a100x8"
#define BOARD_NODES                          1
#define BOARD_DEVICES_PER_NODE               8
#define BOARD_DEVICE_MEMORY_BYTES            (78LL << 30)              /* 80 GiB; the driver offers 79.1, less 1 GiB for context and libraries. POST measures it */
#define BOARD_LINK_GROUP_DEVICES             8                         /* NVSwitch: every device reaches every other at full rate */
#define BOARD_LINK_BYTES_PER_SECOND          300000000000LL            /* one way; data sheet: NVLink 600 GB/s both ways */
#define BOARD_MEMORY_BYTES_PER_SECOND        2039000000000LL           /* data sheet: 2,039 GB/s, HBM2e */
#define BOARD_FLOPS_PER_SECOND               312000000000000LL         /* data sheet: 312 TFLOP/s bf16, dense */
#define BOARD_NETWORK_BYTES_PER_SECOND       0LL                       /* one node */
#define BOARD_REAL_BYTES                     2                         /* parameters and activations are bf16; sums, gradients, master weights and moments fp32 */
