/* summary.c: see summary.h. Steady but for summary_clear; a fixed buffer, no allocation.
 *
 * (1) Screen and file say the same figures, computed once in struct figures. */
#include "save/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "save/number.h"
#include "save/telemetry.h"

enum { PAGE_BYTES = 8192 };

struct figures {
    double seconds, tokens_per_second;
    double share[TIME_KINDS], other;        /* of ranks * run time */
    double parameter_operations, attention_operations, peak_operations, mfu;
};

static struct figures figures_of(const struct summary *summary)
{
    struct figures f = { .seconds = (double)summary->run_ns / 1e9 };
    double rank_ns = (double)summary->run_ns * RANKS, tokens = (double)summary->tokens;
    f.tokens_per_second = f.seconds > 0 ? tokens / f.seconds : 0;
    f.other = 1;
    for (int kind = 0; kind < TIME_KINDS; kind++) {
        f.share[kind] = rank_ns > 0 ? (double)summary->time_ns[kind] / rank_ns : 0;
        f.other -= f.share[kind];
    }
    f.other = f.other > 0 ? f.other : 0;     /* the reporter's clock measures the step, the ranks' own clocks the parts */
    /* A parameter costs 2 operations a token forward and 4 backward. Attention: scores and values are 2 products of 2*H*D operations a key, over
     * T/2 keys on average, and twice that backward: 6*L*H*D*T a token. */
    f.parameter_operations = 6.0 * (double)model_parameters * tokens;
    f.attention_operations = 6.0 * MODEL_LAYERS * MODEL_HEADS * MODEL_HEAD_DIM * (double)SEQUENCE_TOKENS * tokens;
    f.peak_operations = (double)BOARD_FLOPS_PER_SECOND * RANKS * f.seconds;
    f.mfu = f.peak_operations > 0 ? (f.parameter_operations + f.attention_operations) / f.peak_operations : 0;
    return f;
}

static void print(const struct summary *summary, const struct figures *f)
{
    telemetry_line("DONE   %" PRId64 " steps  %" PRId64 " targets  loss of the first step %.4f, of the last %.4f", summary->steps, summary->targets,
                   summary->first.loss, summary->last.loss);
    if (summary->before.targets > 0)
        telemetry_line("       held out: loss %.4f before, %.4f after  token accuracy %.2f %% before, %.2f %% after", summary->before.loss,
                       summary->after.loss, 100 * summary->before.accuracy, 100 * summary->after.accuracy);
    telemetry_line("       %.1f s  %.0f tokens/s  boot %.3f s  peak memory %.1f MiB  allocations after SEAL %" PRId64, f->seconds, f->tokens_per_second,
                   (double)summary->boot_ns / 1e9, (double)summary->peak_bytes / 0x1p20, seal_allocations());
    telemetry_line("       time of the ranks: matrix products %.1f %%  other kernels %.1f %%  communication %.1f %%  waiting %.1f %%  rest %.1f %%",
                   100 * f->share[TIME_MATMUL], 100 * f->share[TIME_KERNEL], 100 * f->share[TIME_COMM], 100 * f->share[TIME_WAIT], 100 * f->other);
    telemetry_line("       MFU %.3f = (6 * parameters * tokens %.3g + attention %.3g) / (board's peak %.3g/s * %d devices * %.1f s)", f->mfu,
                   f->parameter_operations, f->attention_operations, (double)BOARD_FLOPS_PER_SECOND, RANKS, f->seconds);
}

/* ---- summary.json ---- */

struct page {
    char text[PAGE_BYTES];
    size_t used;
};

static void put(struct page *page, const char *format, ...) PRINTF(2, 3);
static void put(struct page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(page->text + page->used, sizeof page->text - page->used, format, arguments);
    va_end(arguments);
    ASSERT(bytes >= 0 && page->used + (size_t)bytes < sizeof page->text);
    page->used += (size_t)bytes;
}

static void put_number(struct page *page, const char *name, double value)
{
    put(page, "  \"%s\": %s,\n", name, number_text(value).text);
}

static void put_whole(struct page *page, const char *name, int64_t value)
{
    put(page, "  \"%s\": %" PRId64 ",\n", name, value);
}

static void put_evaluations(struct page *page, const struct summary *summary)
{
    bool held_out = summary->before.targets > 0;
    put_number(page, "loss_before", held_out ? summary->before.loss : NAN);
    put_number(page, "loss_after", held_out ? summary->after.loss : NAN);
    put_number(page, "token_accuracy_before", held_out ? summary->before.accuracy : NAN);
    put_number(page, "token_accuracy_after", held_out ? summary->after.accuracy : NAN);
    put_whole(page, "held_out_targets", summary->after.targets);
    put_number(page, "first_step_loss", summary->first.loss);
    put_number(page, "last_step_loss", summary->last.loss);
}

static void render(struct page *page, const struct night *night, const struct summary *summary, const struct figures *f)
{
    put(page, "{\n  \"image\": \"%s\",\n  \"image_inputs\": \"%016" PRIx64 "\",\n", image_name, image_inputs);
    put_evaluations(page, summary);
    put_whole(page, "steps", summary->steps);
    put_whole(page, "tokens", summary->tokens);
    put_whole(page, "targets", summary->targets);
    put_whole(page, "tokens_a_step", night->tokens_a_step);
    put_number(page, "seconds", f->seconds);
    put_number(page, "tokens_per_second", f->tokens_per_second);
    put_number(page, "boot_seconds", (double)summary->boot_ns / 1e9);
    put_number(page, "share_matmul", f->share[TIME_MATMUL]);
    put_number(page, "share_kernels", f->share[TIME_KERNEL]);
    put_number(page, "share_communication", f->share[TIME_COMM]);
    put_number(page, "share_waiting", f->share[TIME_WAIT]);
    put_number(page, "share_rest", f->other);
    put_number(page, "mfu", f->mfu);
    put_number(page, "mfu_numerator", f->parameter_operations + f->attention_operations);
    put_number(page, "mfu_denominator", f->peak_operations);
    put(page, "  \"mfu_formula\": \"(6 * parameters * tokens + 6 * layers * heads * head_size * sequence * tokens) / "
              "(board's peak operations a second * devices * seconds)\",\n");
    put_number(page, "matmul_operations", (double)summary->matmul_operations);
    put_number(page, "board_operations_per_second", (double)BOARD_FLOPS_PER_SECOND);
    put_whole(page, "devices", RANKS);
    put_whole(page, "parameters", model_parameters);
    put_whole(page, "arena_bytes", arena_bytes);
    put_whole(page, "peak_bytes", summary->peak_bytes);
    put_whole(page, "disk_bytes", night->disk_bytes);
    struct telemetry_lost lost = telemetry_lost();
    put_whole(page, "metrics_lines_lost", lost.metrics);
    put_whole(page, "screen_lines_lost", lost.screen);
    put(page, "  \"allocations_after_seal\": %" PRId64 "\n}\n", seal_allocations());
}

BOOT enum status summary_clear(const struct night *night, bool *removed)
{
    char path[JOB_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/summary.json", night->job.output);
    *removed = unlink(path) == 0;
    if (!*removed && errno != ENOENT)
        return fail(E_READ, "%s: the earlier run's summary cannot be removed: %s; make it writable or take another output folder", path, strerror(errno));
    return OK;
}

/* Written beside and renamed, so that a reader never sees half of it. */
static enum status save(const struct night *night, const struct page *page)
{
    char path[JOB_PATH_BYTES + 32], draft[JOB_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/summary.json", night->job.output);
    snprintf(draft, sizeof draft, "%s/summary.json.tmp", night->job.output);
    int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool written = file >= 0 && write(file, page->text, page->used) == (ssize_t)page->used && fsync(file) == 0;
    int cause = errno;
    if (file >= 0)
        close(file);
    if (!written || rename(draft, path) != 0)
        return fail(E_READ, "%s: cannot be written: %s", path, strerror(written ? errno : cause));
    return OK;
}

enum status summary_write(const struct night *night, const struct summary *summary)
{
    static struct page page;
    struct figures figures = figures_of(summary);
    print(summary, &figures);
    page.used = 0;
    render(&page, night, summary, &figures);
    return save(night, &page);
}
