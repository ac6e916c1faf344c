/* layouts/pp2dp4.h: eight ranks: two pipeline stages, four data-parallel replicas. */
#define LAYOUT_TP                            1
#define LAYOUT_PP                            2
#define LAYOUT_DP                            4
#define LAYOUT_CP                            1
#define LAYOUT_SCHEDULE                      SCHEDULE_1F1B
#define LAYOUT_MICRO_BATCHES                 2             /* a global batch of 8 rows; bubble (PP-1)/(2+PP-1) = 33 %; make MICRO= */
#define LAYOUT_MICRO_BATCH_ROWS              1             /* make ROWS= */
#define LAYOUT_SEQUENCE_TOKENS               256           /* what every model here has positions for; make SEQ= */
#define LAYOUT_ZERO                          1             /* optimizer state cut over DP */
#define LAYOUT_TP_ACROSS_LINK_GROUPS         0             /* a TP group that leaves its link group is an error */
