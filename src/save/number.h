/* number.h: doubles as JSON has them.
 *
 * Any phase; allocates nothing. */
#ifndef SRC_SAVE_NUMBER_H
#define SRC_SAVE_NUMBER_H

struct number_text {
    char text[32];
};

/* The fewest digits, from 15 on, that read back as the same double; "null" for what is not finite. */
struct number_text number_text(double value);

#endif
