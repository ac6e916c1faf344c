/* report.c: see report.h. Build host. */
#include "tools/layoutc/report.h"

#include <inttypes.h>

#include "tools/layoutc/memory.h"
#include "tools/layoutc/order.h"

static double percent(int64_t part, int64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

/* "1,234,567" into text. */
enum { GROUPED_BYTES = 32 };
static const char *grouped(char text[GROUPED_BYTES], int64_t number)
{
    char plain[GROUPED_BYTES];
    int digits = snprintf(plain, sizeof plain, "%" PRId64, number), used = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = plain[i];
    }
    text[used] = '\0';
    return text;
}

static void report_stage(FILE *f, const struct draft *draft, int32_t pp)
{
    const struct stage *stage = &draft->stage[pp];
    const struct memory_map map = memory_map_of(stage);
    int64_t device = draft->input->board.device_memory_bytes, ranks = draft->share.ranks / draft->input->layout.pp;
    char a[GROUPED_BYTES], b[GROUPED_BYTES], text[BYTES_TEXT_BYTES];
    fprintf(f, "stage %d: %slayers", (int)pp, stage->embeds ? "embedding, " : "");
    for (int32_t c = 0; c < stage->chunks; c++)
        fprintf(f, "%s %d to %d", c == 0 ? "" : " and", (int)stage->chunk[c].first_layer,
                (int)(stage->chunk[c].first_layer + stage->chunk[c].layers - 1));
    fprintf(f, "%s; ranks %" PRId64 " to %" PRId64 "%s\n", stage->heads ? ", head" : "", pp * ranks,
            (pp + 1) * ranks - 1, pp == draft->fullest ? "  (the fullest)" : "");
    fprintf(f, "  %-20s %8s %20s %24s %11s\n", "", "buffers", "all of them, bytes", "at the fullest step", "of device");
    for (int kind = 0; kind < BUFFER_KINDS; kind++)
        if (map.buffers[kind] > 0)
            fprintf(f, "  %-20s %8d %20s %24s %9.2f %%\n", memory_name(kind), (int)map.buffers[kind], grouped(a, map.all_bytes[kind]),
                    grouped(b, map.full_bytes[kind]), percent(map.full_bytes[kind], device));
    if (stage->arena_bytes > stage->arena_bound_bytes)
        fprintf(f, "  %-20s %8s %20s %24s %9.2f %%\n", "gaps of placement", "", "",
                grouped(b, stage->arena_bytes - stage->arena_bound_bytes), percent(stage->arena_bytes - stage->arena_bound_bytes, device));
    fprintf(f, "  %-20s %8s %20s %24s %9.2f %%  %s\n", "used", "", grouped(a, map.all_sum), grouped(b, stage->arena_bytes),
            percent(stage->arena_bytes, device), bytes_text(text, stage->arena_bytes));
    fprintf(f, "  %-20s %8s %20s %24s %9.2f %%  %s\n", "free", "", "", grouped(b, device - stage->arena_bytes),
            percent(device - stage->arena_bytes, device), bytes_text(text, device - stage->arena_bytes));
    fprintf(f, "  fullest at step %d of %d of %s; arena %.2f of the sum of all buffers, %.4f of the largest live set\n\n",
            (int)map.fullest_step, (int)(map.evaluation ? stage->evaluate.steps : stage->train.steps),
            map.evaluation ? "evaluation" : "training", (double)stage->arena_bytes / (double)map.all_sum,
            (double)stage->arena_bytes / (double)stage->arena_bound_bytes);
}

void report_size(FILE *file, const struct draft *draft)
{
    const struct input *input = draft->input;
    char parameters[GROUPED_BYTES], device[BYTES_TEXT_BYTES], arena[BYTES_TEXT_BYTES];
    fprintf(file, "MEMORY  %s/%s/%s/%s\n", input->board.name, input->layout.name, input->model.name, input->method);
    fprintf(file,
            "  %s parameters; %" PRId64 " ranks; TP %" PRId64 "  PP %" PRId64 "  DP %" PRId64 "; %s, %" PRId64 " micro-batches of %" PRId64
            " x %" PRId64 " tokens; a device has %s\n\n",
            grouped(parameters, draft->parameters), draft->share.ranks, input->layout.tp, input->layout.pp, input->layout.dp,
            order_name(input->layout.schedule), input->layout.micro_batches, input->layout.micro_batch_rows, input->layout.sequence_tokens,
            bytes_text(device, input->board.device_memory_bytes));
    for (int32_t s = 0; s < input->layout.pp; s++)
        report_stage(file, draft, s);
    fprintf(file, "fullest rank: stage %d, %s of %s (%.1f %%)\n", (int)draft->fullest, bytes_text(arena, draft->arena_bytes), device,
            percent(draft->arena_bytes, input->board.device_memory_bytes));
}
