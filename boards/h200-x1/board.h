/* boards/h200-x1/board.h: one H200 141 GB device (SXM5).
 * Source of the rates: NVIDIA H200 Tensor Core GPU data sheet, SXM column; it prints tensor rates with sparsity, twice the dense ones. */
#define BOARD_NAME                           "h200-x1"
#define BOARD_NODES                          1
#define BOARD_DEVICES_PER_NODE               1
#define BOARD_DEVICE_MEMORY_BYTES            (138LL << 30)             /* 141 GB; the driver offers 139.8 GiB, less 1 GiB for context and libraries. POST measures it */
#define BOARD_LINK_GROUP_DEVICES             1                         /* alone */
#define BOARD_LINK_BYTES_PER_SECOND          0LL                       /* one rank sends to nobody */
#define BOARD_MEMORY_BYTES_PER_SECOND        4800000000000LL           /* data sheet: 4.8 TB/s, HBM3e */
#define BOARD_FLOPS_PER_SECOND               989000000000000LL         /* data sheet: 1,979 TFLOP/s bf16 with sparsity, half of it dense */
#define BOARD_NETWORK_BYTES_PER_SECOND       0LL                       /* one node */
#define BOARD_REAL_BYTES                     2                         /* parameters and activations are bf16; sums, gradients, master weights and moments fp32 */
