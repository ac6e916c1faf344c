/* telemetry_test.c: metrics.jsonl is right, and nothing outside can stop the run. */
#include "save/telemetry.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/test.h"

static struct night night;
static int kept_output = -1;

/* A night of that many steps; standard output goes to the file descriptor until restore(). */
static void open_night(int64_t steps, int64_t log_every, int output)
{
    memset(&night, 0, sizeof night);
    snprintf(night.job.output, sizeof night.job.output, "%s", test_folder());
    night.job.steps = steps;
    night.job.log_every = log_every;
    fflush(stdout);
    kept_output = dup(STDOUT_FILENO);
    dup2(output, STDOUT_FILENO);
    EXPECT_EQ(telemetry_open(&night), OK);
}

static void restore(void)
{
    telemetry_close();
    dup2(kept_output, STDOUT_FILENO);
    close(kept_output);
}

static const char *in_output(const char *name)
{
    static char path[JOB_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", night.job.output, name);
    return path;
}

static int screen_file(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/screen", test_folder());
    return open(path, O_RDWR | O_CREAT, 0600);
}

static const char *text_of(int file)
{
    static char text[1 << 16];
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    text[bytes < 0 ? 0 : bytes] = '\0';
    return text;
}

static struct step_result step_at(int64_t step)
{
    return (struct step_result){ .step = step, .loss = 1.0 / 3, .targets = 77, .tokens = 1000, .rows = 3, .norm = 0.7, .clip_factor = 0.5,
                                 .learning_rate = 1e-5, .time_ns = 500000000 };
}

/* Line `index` of metrics.jsonl, parsed. */
static json_t *line_at(int index)
{
    char *text = test_read(in_output("metrics.jsonl"), NULL), *line = text;
    for (int i = 0; i < index && line != NULL; i++)
        line = strchr(line, '\n') == NULL ? NULL : strchr(line, '\n') + 1;
    json_t *object = line == NULL ? NULL : json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    free(text);
    return object;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

TEST(each_step_and_evaluation_is_one_object_with_the_same_numbers)
{
    int screen = screen_file();
    open_night(2, 1, screen);
    struct step_result step = step_at(1), bad = step_at(2);
    struct evaluation_result evaluation = { .step = 1, .loss = 2.0 / 7, .accuracy = 0.1, .targets = 5, .rows = 2, .time_ns = 1000 };
    bad.loss = NAN;
    bad.norm = INFINITY;
    telemetry_step(&step);
    telemetry_evaluation(&evaluation);
    telemetry_step(&bad);
    restore();

    json_t *first = line_at(0), *second = line_at(1), *third = line_at(2);
    EXPECT_TEXT(json_string_value(json_object_get(first, "event")), "step");
    EXPECT_EQ(json_integer_value(json_object_get(first, "step")), 1);
    EXPECT(json_real_value(json_object_get(first, "loss")) == 1.0 / 3);
    EXPECT(json_real_value(json_object_get(first, "learning_rate")) == 1e-5);
    EXPECT(json_real_value(json_object_get(first, "norm")) == 0.7);
    EXPECT(json_number_value(json_object_get(first, "clip_factor")) == 0.5);
    EXPECT_EQ(json_integer_value(json_object_get(first, "targets")), 77);
    EXPECT_EQ(json_integer_value(json_object_get(first, "tokens")), 1000);
    EXPECT_EQ(json_integer_value(json_object_get(first, "rows")), 3);
    EXPECT(json_number_value(json_object_get(first, "tokens_per_second")) == 2000);
    EXPECT_TEXT(json_string_value(json_object_get(second, "event")), "evaluation");
    EXPECT(json_real_value(json_object_get(second, "loss")) == 2.0 / 7);
    EXPECT(json_real_value(json_object_get(second, "accuracy")) == 0.1);
    EXPECT(json_is_null(json_object_get(third, "loss")) && json_is_null(json_object_get(third, "norm")));
    EXPECT_EQ(telemetry_lost().metrics + telemetry_lost().screen, 0);
    close(screen);
}

TEST(last_nights_file_stays_until_the_first_line)
{
    int screen = screen_file();
    open_night(1, 1, screen);
    restore();
    FILE *old = fopen(in_output("metrics.jsonl"), "w");
    for (int i = 0; i < 100; i++)
        fputs("{\"event\":\"step\",\"step\":99}\n", old);
    fclose(old);
    EXPECT_EQ(telemetry_open(&night), OK);
    char *before = test_read(in_output("metrics.jsonl"), NULL);
    EXPECT_EQ(lines_of(before), 100);
    kept_output = dup(STDOUT_FILENO);
    dup2(screen, STDOUT_FILENO);
    struct step_result step = step_at(1);
    telemetry_step(&step);
    restore();
    char *after = test_read(in_output("metrics.jsonl"), NULL);
    EXPECT_EQ(lines_of(after), 1);
    free(before);
    free(after);
    close(screen);
}

TEST(plain_lines_come_every_log_every_the_first_and_the_last)
{
    int screen = screen_file();
    open_night(12, 5, screen);
    for (int64_t i = 1; i <= 12; i++) {
        struct step_result step = step_at(i);
        telemetry_step(&step);
    }
    restore();
    const char *text = text_of(screen);
    EXPECT_EQ(lines_of(text), 4);
    EXPECT_HOLDS(text, "step 1/12");
    EXPECT_HOLDS(text, "step 5/12  loss 0.3333  lr 1e-05  norm 0.7  2k tok/s  eta 0:04");
    EXPECT_HOLDS(text, "step 10/12");
    EXPECT_HOLDS(text, "step 12/12");
    EXPECT(strchr(text, '\r') == NULL);
    close(screen);
}

TEST(on_a_terminal_the_line_is_drawn_anew)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0)
        test_skip("no pseudo terminal");
    open_night(3, 1, slave);
    for (int64_t i = 1; i <= 3; i++) {
        struct step_result step = step_at(i);
        telemetry_step(&step);
    }
    restore();
    char text[4096];
    size_t used = 0;
    for (ssize_t bytes = 1; bytes > 0 && (used == 0 || text[used - 1] != '\n'); used += bytes > 0 ? (size_t)bytes : 0)
        bytes = read(master, text + used, sizeof text - 1 - used);     /* a terminal gives its lines in parts */
    text[used] = '\0';
    EXPECT_HOLDS(text, "\r\x1b[KRUN    step 2/3");
    EXPECT_EQ(lines_of(text), 1);
    close(master);
    close(slave);
}

TEST(a_closed_pipe_is_counted_and_the_run_goes_on)
{
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    open_night(3, 1, ends[1]);
    close(ends[0]);
    for (int64_t i = 1; i <= 3; i++) {
        struct step_result step = step_at(i);
        telemetry_step(&step);
    }
    status_quiet(true);
    restore();
    status_quiet(false);
    EXPECT_EQ(telemetry_lost().screen, 3);
    EXPECT_EQ(telemetry_lost().metrics, 0);
    close(ends[1]);
}

TEST(a_reader_that_does_not_read_holds_nothing_up)
{   /* 64 KiB of pipe are about 700 lines; only the first line that finds it full waits, 0.2 s. */
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    open_night(5000, 1, ends[1]);
    int64_t begin = clock_ns();
    for (int64_t i = 1; i <= 5000; i++) {
        struct step_result step = step_at(i);
        telemetry_step(&step);
    }
    double seconds = (double)(clock_ns() - begin) / 1e9;
    status_quiet(true);
    restore();
    status_quiet(false);
    EXPECT(telemetry_lost().screen > 3000);
    EXPECT(seconds < 20);     /* 5,000 waits would be 1,000 s */
    close(ends[0]);
    close(ends[1]);
}

TEST(a_full_disk_leaves_whole_lines)
{
    int screen = screen_file();
    struct rlimit old, small = { .rlim_cur = 1000 };
    open_night(20, 20, screen);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    for (int64_t i = 1; i <= 20; i++) {
        struct step_result step = step_at(i);
        telemetry_step(&step);
    }
    setrlimit(RLIMIT_FSIZE, &old);
    status_quiet(true);
    restore();
    status_quiet(false);
    size_t bytes;
    char *text = test_read(in_output("metrics.jsonl"), &bytes);
    EXPECT(bytes > 0 && bytes <= 1000 && text[bytes - 1] == '\n');
    EXPECT_EQ(telemetry_lost().metrics, 20 - lines_of(text));
    for (int i = 0; i < lines_of(text); i++)
        EXPECT(json_is_object(line_at(i)));
    free(text);
    close(screen);
}

TEST(a_folder_that_is_not_there_is_said_at_boot)
{
    struct night lost = { 0 };
    snprintf(lost.job.output, sizeof lost.job.output, "/nowhere/at/all");
    status_quiet(true);
    EXPECT_EQ(telemetry_open(&lost), E_READ);
    status_quiet(false);
    EXPECT_HOLDS(status_message(), "/nowhere/at/all/metrics.jsonl");
}
