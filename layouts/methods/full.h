/* layouts/methods/full.h: every parameter learns. */
#define METHOD_NAME                          "full"
