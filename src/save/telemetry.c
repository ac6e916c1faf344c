/* telemetry.c: see telemetry.h. Steady but for telemetry_open. */
#include "save/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "save/number.h"

enum { LINE_BYTES = 1024, REDRAW_NS = 100000000, WAIT_MS = 200 };

static struct {
    const struct job *job;
    int metrics;                     /* file, or -1 */
    int64_t metrics_bytes;           /* whole lines written so far */
    bool emptied, terminal;
    bool drawn;                      /* the cursor stands behind a progress line */
    bool stalled;                    /* the last line found no reader within WAIT_MS: do not wait for the next */
    int64_t begin_ns, drawn_ns;
    int64_t tokens, time_ns;         /* since the last printed line */
    double step_ns;                  /* moving mean, for the remaining time */
    struct telemetry_lost lost;
} state = { .metrics = -1 };

/* Standard output takes the line now or not at all: a reader that sleeps must not hold the run. */
static void screen(const char *text, size_t bytes)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    bool ready = poll(&out, 1, state.stalled ? 0 : WAIT_MS) == 1 && (out.revents & POLLOUT) != 0;
    state.stalled = !ready;
    if (!ready || write(STDOUT_FILENO, text, bytes) != (ssize_t)bytes)
        state.lost.screen++;
}

/* Appends one whole line; what a full disk cut off is taken back. */
static void metrics(const char *line, size_t bytes)
{
    if (state.metrics < 0)
        return;
    if (!state.emptied && ftruncate(state.metrics, 0) != 0) {
        state.lost.metrics++;
        return;
    }
    state.emptied = true;
    if (pwrite(state.metrics, line, bytes, state.metrics_bytes) == (ssize_t)bytes) {
        state.metrics_bytes += (int64_t)bytes;
        return;
    }
    state.lost.metrics++;
    if (ftruncate(state.metrics, state.metrics_bytes) != 0)
        return;
}

struct words {
    char text[32];
};

/* "1.23k", "31.2k", "4.56M" */
static struct words scaled(double value)
{
    struct words n;
    const char *unit = value >= 1e6 ? "M" : value >= 1e3 ? "k" : "";
    snprintf(n.text, sizeof n.text, "%.3g%s", value >= 1e6 ? value / 1e6 : value >= 1e3 ? value / 1e3 : value, unit);
    return n;
}

/* "0:41", "1:02:03" */
static struct words hours(double seconds)
{
    struct words n;
    int64_t s = seconds > 0 && seconds < 1e12 ? (int64_t)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(n.text, sizeof n.text, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(n.text, sizeof n.text, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return n;
}

static void show(const char *text, bool progress)
{
    char line[LINE_BYTES];
    const char *before = state.drawn ? "\r\x1b[K" : "", *after = progress ? "" : "\n";
    int bytes = snprintf(line, sizeof line, "%s%s%s", before, text, after);
    state.drawn = progress;
    screen(line, bytes < LINE_BYTES ? (size_t)bytes : LINE_BYTES - 1);
}

void telemetry_line(const char *format, ...)
{
    char text[LINE_BYTES - 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show(text, false);
}

void telemetry_step(const struct step_result *result)
{
    double seconds = (double)result->time_ns / 1e9, rate = seconds > 0 ? (double)result->tokens / seconds : 0;
    char line[LINE_BYTES];
    int bytes = snprintf(line, sizeof line,
                         "{\"event\":\"step\",\"step\":%" PRId64 ",\"loss\":%s,\"learning_rate\":%s,\"norm\":%s,\"clip_factor\":%s,"
                         "\"targets\":%" PRId64 ",\"tokens\":%" PRId64 ",\"rows\":%" PRId64 ",\"seconds\":%s,\"tokens_per_second\":%s,"
                         "\"elapsed_seconds\":%s}\n",
                         result->step, number_text(result->loss).text, number_text(result->learning_rate).text, number_text(result->norm).text,
                         number_text(result->clip_factor).text, result->targets, result->tokens, result->rows, number_text(seconds).text,
                         number_text(rate).text, number_text((double)(clock_ns() - state.begin_ns) / 1e9).text);
    metrics(line, (size_t)bytes);

    state.tokens += result->tokens;
    state.time_ns += result->time_ns;
    state.step_ns = result->step == 1 ? (double)result->time_ns : 0.9 * state.step_ns + 0.1 * (double)result->time_ns;
    const struct job *job = state.job;
    bool last = result->step == job->steps, due = result->step == 1 || last || result->step % job->log_every == 0;
    bool redraw = state.terminal && clock_ns() - state.drawn_ns >= REDRAW_NS;
    if (!due && !redraw)
        return;
    double mean = state.time_ns > 0 ? (double)state.tokens * 1e9 / (double)state.time_ns : 0;
    snprintf(line, sizeof line, "RUN    step %" PRId64 "/%" PRId64 "  loss %.4g  lr %.3g  norm %.3g  %s tok/s  eta %s", result->step,
             job->steps, result->loss, result->learning_rate, result->norm, scaled(mean).text,
             hours((double)(job->steps - result->step) * state.step_ns / 1e9).text);
    show(line, state.terminal && !last);
    state.drawn_ns = clock_ns();
    if (due)
        state.tokens = state.time_ns = 0;
}

void telemetry_evaluation(const struct evaluation_result *result)
{
    char line[LINE_BYTES];
    double seconds = (double)result->time_ns / 1e9;
    int bytes = snprintf(line, sizeof line,
                         "{\"event\":\"evaluation\",\"step\":%" PRId64 ",\"loss\":%s,\"accuracy\":%s,\"targets\":%" PRId64 ",\"rows\":%" PRId64
                         ",\"seconds\":%s,\"elapsed_seconds\":%s}\n",
                         result->step, number_text(result->loss).text, number_text(result->accuracy).text, result->targets, result->rows,
                         number_text(seconds).text, number_text((double)(clock_ns() - state.begin_ns) / 1e9).text);
    metrics(line, (size_t)bytes);
    telemetry_line("EVAL   step %" PRId64 "/%" PRId64 "  held-out loss %.4f  token accuracy %.2f %%  %" PRId64 " targets  %.3g s", result->step,
                   state.job->steps, result->loss, 100 * result->accuracy, result->targets, seconds);
}

struct telemetry_lost telemetry_lost(void)
{
    return state.lost;
}

void telemetry_close(void)
{
    if (state.drawn)
        show("", false);
    if (state.lost.metrics > 0)
        note("metrics.jsonl: %" PRId64 " lines could not be written", state.lost.metrics);
    if (state.lost.screen > 0)
        note("%" PRId64 " lines of progress could not be shown", state.lost.screen);
    if (state.metrics >= 0)
        close(state.metrics);
    state.metrics = -1;
}

BOOT enum status telemetry_open(const struct night *night)
{
    char path[JOB_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/metrics.jsonl", night->job.output);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    memset(&state, 0, sizeof state);
    state.job = &night->job;
    state.begin_ns = clock_ns();
    state.terminal = isatty(STDOUT_FILENO) == 1;
    state.metrics = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (state.metrics < 0)
        return fail(E_READ, "%s: %s", path, strerror(errno));
    return OK;
}
