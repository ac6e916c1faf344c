/* adamw.h: one AdamW step of one parameter in fp64, line by line as Loshchilov and Hutter 2019, algorithm 2, with the decay first. */
#ifndef TEST_REFERENCE_ADAMW_H
#define TEST_REFERENCE_ADAMW_H

struct reference_adamw {
    double learning_rate, beta1, beta2, epsilon, weight_decay, gradient_scale;
    int step;     /* from 1 */
};

void reference_adamw(double *w, double *m, double *v, double g, const struct reference_adamw *a);

#endif
