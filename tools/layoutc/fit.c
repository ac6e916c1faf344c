/* fit.c: says that a layout does not fit its device, by how much, and what would. See diagnose.h. Build host.
 *
 * (1) A change is only named after its tables were made and did fit. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/layoutc/diagnose.h"
#include "tools/layoutc/memory.h"

enum { CHANGE_BYTES = 128, LARGEST = 3, SEQUENCE_LEAST_TOKENS = 64 };

static bool fits(const struct input *input)
{
    struct draft draft;
    bool quiet = status_quiet(true);
    bool right = draft_make_any_size(&draft, input) == OK && draft.arena_bytes <= input->board.device_memory_bytes;
    status_quiet(quiet);
    draft_free(&draft);
    return right;
}

/* The first halving of *value (a field of input) that fits; *value is left as it was. */
static bool halving_fits(const struct input *input, int64_t *value, int64_t least, int64_t *right)
{
    int64_t before = *value;
    bool found = false;
    for (int64_t next = before / 2; next >= least && !found; next /= 2) {
        *value = *right = next;
        found = fits(input);
    }
    *value = before;
    return found;
}

/* The smallest power of two that, taken from one degree and given to another, fits. */
static bool exchange_fits(const struct input *input, int64_t *from, int64_t *to, int64_t *factor)
{
    int64_t from_before = *from, to_before = *to;
    bool found = false;
    for (int64_t f = 2; from_before % f == 0 && !found; f *= 2) {
        *from = from_before / f;
        *to = to_before * f;
        *factor = f;
        found = fits(input);
    }
    *from = from_before;
    *to = to_before;
    return found;
}

/* One change that would fit, in the headers' words; the ones that leave the job as it is come first. */
static const char *change_that_fits(const struct input *original, char text[CHANGE_BYTES])
{
    struct input input = *original;
    struct layout_input *l = &input.layout;
    int64_t value;
    if (l->schedule == ORDER_GPIPE) {
        l->schedule = ORDER_1F1B;
        if (fits(&input)) {
            snprintf(text, CHANGE_BYTES, "LAYOUT_SCHEDULE SCHEDULE_1F1B would fit");
            return text;
        }
        l->schedule = ORDER_GPIPE;
    }
    if (halving_fits(&input, &l->micro_batch_rows, 1, &value)) {
        snprintf(text, CHANGE_BYTES, "LAYOUT_MICRO_BATCH_ROWS %" PRId64 " (make ROWS=%" PRId64 ") would fit", value, value);
        return text;
    }
    const struct {
        int64_t *value;
        const char *name;
    } tp = { &l->tp, "TP" }, pp = { &l->pp, "PP" }, dp = { &l->dp, "DP" },
      exchanges[][2] = { { dp, tp }, { dp, pp }, { pp, tp }, { tp, pp }, { pp, dp } };
    for (int i = 0; i < ELEMENTS_OF(exchanges); i++) {
        int64_t *from = exchanges[i][0].value, *to = exchanges[i][1].value, factor;
        if (exchange_fits(&input, from, to, &factor)) {
            snprintf(text, CHANGE_BYTES, "LAYOUT_%s %" PRId64 " with LAYOUT_%s %" PRId64 " would fit", exchanges[i][1].name, *to * factor,
                     exchanges[i][0].name, *from / factor);
            return text;
        }
    }
    if (l->recompute == AGAIN_NONE) {
        l->recompute = AGAIN_FULL;
        if (fits(&input)) {
            snprintf(text, CHANGE_BYTES, "LAYOUT_RECOMPUTE RECOMPUTE_FULL would fit");
            return text;
        }
        l->recompute = AGAIN_NONE;
    }
    if (halving_fits(&input, &l->sequence_tokens, SEQUENCE_LEAST_TOKENS, &value)) {
        snprintf(text, CHANGE_BYTES, "LAYOUT_SEQUENCE_TOKENS %" PRId64 " (make SEQ=%" PRId64 ") would fit", value, value);
        return text;
    }
    snprintf(text, CHANGE_BYTES, "no single change of the layout would fit: it takes more devices or a smaller model");
    return text;
}

enum status diagnose_memory(const struct draft *draft)
{
    const struct input *input = draft->input;
    int64_t over = draft->arena_bytes - input->board.device_memory_bytes;
    if (over <= 0)
        return OK;
    char bytes[3][BYTES_TEXT_BYTES], largest[192] = "", change[CHANGE_BYTES];
    struct memory_map map = memory_map_of(&draft->stage[draft->fullest]);
    size_t used = 0;
    for (int n = 0; n < LARGEST; n++) {
        int most = 0;
        for (int kind = 1; kind < BUFFER_KINDS; kind++)
            if (map.full_bytes[kind] > map.full_bytes[most])
                most = kind;
        used += (size_t)snprintf(largest + used, sizeof largest - used, "%s%s %s", n == 0 ? "" : ", ", memory_name(most),
                                 bytes_text(bytes[0], map.full_bytes[most]));
        map.full_bytes[most] = 0;
    }
    return fail(E_USAGE,
                "%s: stage %d of %s needs %s, %" PRId64
                " bytes (%s) more than BOARD_DEVICE_MEMORY_BYTES of %s, which is %s; largest: %s; %s",
                input->layout.header, (int)draft->fullest, input->model.name, bytes_text(bytes[0], draft->arena_bytes), over,
                bytes_text(bytes[1], over), input->board.header, bytes_text(bytes[2], input->board.device_memory_bytes), largest,
                change_that_fits(input, change));
}
