/* compare.c: how far two runs are apart.
 *
 * usage: compare losses A/metrics.jsonl B/metrics.jsonl     largest relative difference of a step's loss
 *        compare tensors A B                                 largest relative difference (by norm) of a tensor, and its name
 *        compare gradients START STEPPED RATE EXPECTED       the same of the gradient that one AdamW step reveals against EXPECTED. With betas 0,
 *                                                            epsilon 1, no decay and no clipping the step is u = RATE g / (|g| + 1), so
 *                                                            g = r / (1 - |r|) with r = (START - STEPPED) / RATE
 * A, B, START, ... are checkpoint folders or files. Prints "<figure> <name>"; exit status 1 where the two do not hold the same things. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/safetensors.h"

static double *losses(const char *path, size_t *count)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    double *loss = NULL;
    *count = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        json_t *object = json_loads(line, 0, NULL);
        json_t *kind = json_object_get(object, "event"), *value = json_object_get(object, "loss");
        if (kind != NULL && strcmp(json_string_value(kind), "step") == 0) {
            loss = realloc(loss, (*count + 1) * sizeof *loss);
            loss[(*count)++] = json_is_number(value) ? json_number_value(value) : NAN;
        }
        json_decref(object);
    }
    if (file != NULL)
        fclose(file);
    return loss;
}

static int compare_losses(const char *path_a, const char *path_b)
{
    size_t count_a, count_b;
    double *a = losses(path_a, &count_a), *b = losses(path_b, &count_b), worst = 0.0;
    if (count_a != count_b || count_a == 0) {
        fprintf(stderr, "compare: %s has %zu steps, %s has %zu\n", path_a, count_a, path_b, count_b);
        return 1;
    }
    for (size_t i = 0; i < count_a; i++) {
        double difference = fabs(a[i] - b[i]) / fabs(b[i]);
        if (!(difference <= worst))
            worst = difference;
    }
    printf("%.3g steps:%zu\n", worst, count_a);
    return 0;
}

static const float *whole(const struct tensor *tensor)
{
    float *x = malloc((size_t)tensor->elements * sizeof *x);
    if (tensor_read(tensor, x, 0, tensor->elements) != OK)
        exit(1);
    return x;
}

/* start NULL: compares seen with right; else the gradient that the step from start to seen reveals. */
static int compare_tensors(const char *start_path, const char *seen_path, double rate, const char *right_path)
{
    struct tensors start = { 0 }, seen, right;
    if (tensors_open(&seen, seen_path) != OK || tensors_open(&right, right_path) != OK)
        return 1;
    if (start_path != NULL && tensors_open(&start, start_path) != OK)
        return 1;
    if (seen.count != right.count) {
        fprintf(stderr, "compare: %s has %lld tensors, %s has %lld\n", seen_path, (long long)seen.count, right_path, (long long)right.count);
        return 1;
    }
    double worst = 0.0;
    const char *worst_name = "-";
    for (int64_t i = 0; i < right.count; i++) {
        const struct tensor *r = &right.tensor[i], *s = tensors_find(&seen, r->name);
        const struct tensor *t = start_path != NULL ? tensors_find(&start, r->name) : s;
        if (s == NULL || t == NULL || s->elements != r->elements || t->elements != r->elements) {
            fprintf(stderr, "compare: %s: tensor %s is missing or has another shape\n", seen_path, r->name);
            return 1;
        }
        const float *sx = whole(s), *rx = whole(r), *tx = whole(t);
        double error = 0.0, norm = 0.0;
        for (int64_t e = 0; e < r->elements; e++) {
            double ratio = ((double)tx[e] - (double)sx[e]) / rate;
            double value = start_path != NULL ? ratio / (1.0 - fabs(ratio)) : (double)sx[e];
            error += (value - rx[e]) * (value - rx[e]);
            norm += (double)rx[e] * rx[e];
        }
        double relative = norm > 0.0 ? sqrt(error / norm) : sqrt(error);
        if (!(relative <= worst)) {
            worst = relative;
            worst_name = r->name;
        }
    }
    printf("%.3g %s\n", worst, worst_name);
    return 0;
}

int main(int argc, char **argv)
{
    status_program("compare");
    if (argc == 4 && strcmp(argv[1], "losses") == 0)
        return compare_losses(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "tensors") == 0)
        return compare_tensors(NULL, argv[2], 1.0, argv[3]);
    if (argc == 6 && strcmp(argv[1], "gradients") == 0)
        return compare_tensors(argv[2], argv[3], strtod(argv[4], NULL), argv[5]);
    fprintf(stderr, "usage: compare losses A B | tensors A B | gradients START STEPPED RATE EXPECTED\n");
    return 2;
}
