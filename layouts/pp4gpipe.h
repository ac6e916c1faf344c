/* layouts/pp4gpipe.h: four ranks: four pipeline stages, all forward passes before the first backward one. */
#define LAYOUT_TP                            1
#define LAYOUT_PP                            4
#define LAYOUT_DP                            1
#define LAYOUT_CP                            1
#define LAYOUT_SCHEDULE                      SCHEDULE_GPIPE
#define LAYOUT_MICRO_BATCHES                 8             /* a global batch of 8 rows; bubble (PP-1)/(8+PP-1) = 27 %; make MICRO= */
#define LAYOUT_MICRO_BATCH_ROWS              1             /* make ROWS= */
#define LAYOUT_SEQUENCE_TOKENS               256           /* what every model here has positions for; make SEQ= */
#define LAYOUT_ZERO                          1             /* optimizer state cut over DP */
#define LAYOUT_TP_ACROSS_LINK_GROUPS         0             /* a TP group that leaves its link group is an error */
