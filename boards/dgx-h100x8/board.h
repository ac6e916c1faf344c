/* boards/dgx-h100x8/board.h: one DGX H100, eight H100 80 GB devices (SXM5) behind NVSwitch.
 * Source of the rates: NVIDIA H100 Tensor Core GPU data sheet, SXM column; it prints tensor rates with sparsity, twice the dense ones. */
#define BOARD_NAME                           "dgx-h100x8"
#define BOARD_NODES                          1
#define BOARD_DEVICES_PER_NODE               8
#define BOARD_DEVICE_MEMORY_BYTES            (78LL << 30)              /* 80 GiB; the driver offers 79.1, less 1 GiB for context and libraries. POST measures it */
#define BOARD_LINK_GROUP_DEVICES             8                         /* NVSwitch: every device reaches every other at full rate */
#define BOARD_LINK_BYTES_PER_SECOND          450000000000LL            /* one way; data sheet: NVLink 900 GB/s both ways */
#define BOARD_MEMORY_BYTES_PER_SECOND        3350000000000LL           /* data sheet: 3.35 TB/s, HBM3 */
#define BOARD_FLOPS_PER_SECOND               989000000000000LL         /* data sheet: 1,979 TFLOP/s bf16 with sparsity, half of it dense */
#define BOARD_NETWORK_BYTES_PER_SECOND       0LL                       /* one node */
#define BOARD_REAL_BYTES                     2                         /* parameters and activations are bf16; sums, gradients, master weights and moments fp32 */
