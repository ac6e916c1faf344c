/* layouts/tp2pp2dp2.h: eight ranks, cut two ways each by tensor, pipeline and data parallelism. */
#define LAYOUT_TP                            2
#define LAYOUT_PP                            2
#define LAYOUT_DP                            2
#define LAYOUT_CP                            1
#define LAYOUT_SCHEDULE                      SCHEDULE_1F1B
#define LAYOUT_MICRO_BATCHES                 4      /* bubble (PP-1)/(4+PP-1) = 20 % */
#define LAYOUT_MICRO_BATCH_ROWS              1
#define LAYOUT_SEQUENCE_TOKENS               512
#define LAYOUT_ZERO                          1      /* optimizer state cut over DP */
#define LAYOUT_TP_ACROSS_LINK_GROUPS         0      /* a TP group that leaves its link group is an error */
