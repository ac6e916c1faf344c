/* boards/host-x1/board.h: a plain Linux machine without a GPU, one process of one rank.
 * Rates are those of the common test machine (two cores, AMD Zen 3 with AVX2, 24 GiB), measured, an equal share for each rank. */
#define BOARD_NAME                           "host-x1"
#define BOARD_NODES                          1
#define BOARD_DEVICES_PER_NODE               1
#define BOARD_DEVICE_MEMORY_BYTES            (20LL << 30)              /* 20 GiB of 24, the rest for page cache and system */
#define BOARD_LINK_GROUP_DEVICES             1                         /* all share one memory */
#define BOARD_LINK_BYTES_PER_SECOND          0LL                       /* one rank sends to nobody */
#define BOARD_MEMORY_BYTES_PER_SECOND        31000000000LL             /* triad on two threads: 31 GB/s */
#define BOARD_FLOPS_PER_SECOND               187000000000LL            /* fp32 peak of two cores: 187 GFLOP/s */
#define BOARD_NETWORK_BYTES_PER_SECOND       0LL                       /* one node */
#define BOARD_REAL_BYTES                     4                         /* parameters and activations are fp32 */
