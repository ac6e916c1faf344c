/* test/bench/scale/tp8pp16dp128.h: 16384 ranks, cut as Llama 3 405B was over 16,384 (Llama Team 2024, arXiv:2407.21783, table 4, first row). */
#define LAYOUT_TP                            8
#define LAYOUT_PP                            16
#define LAYOUT_DP                            128
#define LAYOUT_CP                            1
#define LAYOUT_SCHEDULE                      SCHEDULE_1F1B
#define LAYOUT_MICRO_BATCHES                 16            /* a replica's rows of a batch; the program of a stage is the same at every DP */
#define LAYOUT_MICRO_BATCH_ROWS              1
#define LAYOUT_SEQUENCE_TOKENS               8192
#define LAYOUT_ZERO                          1             /* optimizer state cut over DP */
#define LAYOUT_RECOMPUTE                     RECOMPUTE_FULL    /* with one replica the optimizer's state leaves no room for more */
#define LAYOUT_TP_ACROSS_LINK_GROUPS         0             /* a TP group that leaves its link group is an error */
