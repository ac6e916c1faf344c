/* jinja_filter.h: what jinja_filter.c (table, filters of one value) and jinja_list_filter.c share. */
#ifndef TOOLS_PACK_JINJA_FILTER_H
#define TOOLS_PACK_JINJA_FILTER_H

#include "tools/pack/jinja_node.h"

typedef struct value filter(struct machine *machine, struct value input, const struct arguments *arguments);

filter filter_list, filter_items, filter_map, filter_select, filter_reject, filter_selectattr, filter_rejectattr, filter_sort;
filter filter_unique, filter_dictsort, filter_max, filter_min, filter_sum;

#endif
