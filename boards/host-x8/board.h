/* boards/host-x8/board.h: a plain Linux machine without a GPU, eight ranks in one process.
 * Rates are those of the common test machine (two cores, AMD Zen 3 with AVX2, 24 GiB), measured, an equal share for each rank. */
#define BOARD_NAME                           "host-x8"
#define BOARD_NODES                          1
#define BOARD_DEVICES_PER_NODE               8
#define BOARD_DEVICE_MEMORY_BYTES            (5LL << 29)               /* 2.5 GiB a rank: 20 GiB of 24, the rest for page cache and system */
#define BOARD_LINK_GROUP_DEVICES             8                         /* all share one memory */
#define BOARD_LINK_BYTES_PER_SECOND          2500000000LL              /* half of four ranks': one memory */
#define BOARD_MEMORY_BYTES_PER_SECOND        3875000000LL              /* triad on two threads: 31 GB/s, over 8 */
#define BOARD_FLOPS_PER_SECOND               23375000000LL             /* fp32 peak of two cores: 187 GFLOP/s, over 8 */
#define BOARD_NETWORK_BYTES_PER_SECOND       0LL                       /* one node */
#define BOARD_REAL_BYTES                     4                         /* parameters and activations are fp32 */
