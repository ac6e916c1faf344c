/* test/bench/scale/h100x16384/board.h: 2048 nodes of boards/dgx-h100x8, which gives the rates' sources. For what the tables of so many ranks cost; no job runs here. */
#define BOARD_NAME                           "h100x16384"
#define BOARD_NODES                          2048
#define BOARD_DEVICES_PER_NODE               8
#define BOARD_DEVICE_MEMORY_BYTES            (78LL << 30)
#define BOARD_LINK_GROUP_DEVICES             8
#define BOARD_LINK_BYTES_PER_SECOND          450000000000LL
#define BOARD_MEMORY_BYTES_PER_SECOND        3350000000000LL
#define BOARD_FLOPS_PER_SECOND               989000000000000LL
#define BOARD_NETWORK_BYTES_PER_SECOND       50000000000LL             /* of one device, one way: one 400 Gbit/s port each (Llama 3, section 3.3.1) */
#define BOARD_REAL_BYTES                     2
