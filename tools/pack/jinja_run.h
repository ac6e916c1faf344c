/* jinja_run.h: what jinja_eval.c (expressions) and jinja_run.c (statements) share. */
#ifndef TOOLS_PACK_JINJA_RUN_H
#define TOOLS_PACK_JINJA_RUN_H

#include "tools/pack/jinja_node.h"

/* Far above what a real conversation needs: a template's step is a few tens of nanoseconds. */
enum { STEPS_MOST = 50000000, DEPTH_MOST = 800 };

struct value evaluate_node(struct machine *machine, const struct node *node);
struct arguments evaluate_arguments(struct machine *machine, const struct node *args);
struct value macro_call(struct machine *machine, const struct macro *macro, const struct arguments *arguments);

#endif
