/* job_test.c: job.cfg is taken or refused as job.h says; ids L2 to L10 are those of a list of settings that broke other readers. */
#include "boot/job.h"

#include <sys/stat.h>
#include <unistd.h>

#include "test/test.h"

#define BASE "model = \"m\"; data = \"d\"; output = \"o\";\n"

/* One folder for all of them. */
static const char *folder(void)
{
    static const char *made;
    if (made == NULL)
        made = test_folder();
    return made;
}

static const char *write_job(const char *text, size_t bytes)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/job.cfg", folder());
    FILE *file = fopen(path, "wb");
    fwrite(text, 1, bytes, file);
    fclose(file);
    return path;
}

static enum status read_bytes(const char *text, size_t bytes, struct job *job)
{
    status_quiet(true);
    enum status status = job_read(write_job(text, bytes), job);
    status_quiet(false);
    return status;
}

static enum status read_text(const char *text, struct job *job)
{
    return read_bytes(text, strlen(text), job);
}

/* BASE and one more line, which is line 2. */
static enum status read_with(const char *line, struct job *job)
{
    char text[4096];
    snprintf(text, sizeof text, BASE "%s\n", line);
    return read_text(text, job);
}

static void refuse(const char *line, const char *part)
{
    struct job job;
    enum status status = read_with(line, &job);
    if (status != E_USAGE || strstr(status_message(), part) == NULL || strstr(status_message(), "job.cfg:") == NULL)
        test_fail(__FILE__, __LINE__, "%s: status %d, \"%s\"; right is 64 and a message that holds \"%s\"", line, status, status_message(), part);
}

TEST(defaults_are_those_of_the_common_frameworks)
{
    struct job job;
    EXPECT_EQ(read_text(BASE, &job), OK);
    EXPECT(job.learning_rate == 1e-5 && job.schedule == RATE_COSINE && job.floor == 0.1 && job.warmup_ratio == 0.05);
    EXPECT(job.beta1 == 0.9 && job.beta2 == 0.95 && job.epsilon == 1e-8 && job.weight_decay == 0.1 && job.clip == 1.0);
    EXPECT(job.seed == 42 && job.log_every == 5 && job.evaluate_every == 0 && job.epochs == 1 && job.steps == 0 && job.warmup_steps == -1);
    EXPECT(!job.start_random && !job.allow_unused_tensors && !job.allow_bad_weights && job.output_type_as_loaded && job.threads == 0);
    EXPECT_TEXT(job.held_out, "");
}

TEST(every_key_reaches_its_field)
{
    struct job job;
    EXPECT_EQ(read_text("model = \"/a/m\"; data = \"/a/d\"; held_out = \"/a/h\"; output = \"/a/o\"; start = \"random\"; epochs = 2.5;\n"
                        "learning_rate = 3e-4; schedule = \"wsd\"; floor = 0.2; warmup_ratio = 0.3; decay_ratio = 0.4; beta1 = 0.5; beta2 = 0.6;\n"
                        "epsilon = 1e-6; weight_decay = 0.7; clip = 0.8; seed = 9; log_every = 10; evaluate_every = 11; threads = 12;\n"
                        "output_type = \"bfloat16\"; unused_tensors = \"accept\"; bad_weights = \"accept\";\n",
                        &job),
              OK);
    EXPECT_TEXT(job.model, "/a/m");
    EXPECT_TEXT(job.data, "/a/d");
    EXPECT_TEXT(job.held_out, "/a/h");
    EXPECT_TEXT(job.output, "/a/o");
    EXPECT(job.start_random && job.epochs == 2.5 && job.learning_rate == 3e-4 && job.schedule == RATE_WSD && job.floor == 0.2);
    EXPECT(job.warmup_ratio == 0.3 && job.decay_ratio == 0.4 && job.beta1 == 0.5 && job.beta2 == 0.6 && job.epsilon == 1e-6);
    EXPECT(job.weight_decay == 0.7 && job.clip == 0.8 && job.seed == 9 && job.log_every == 10 && job.evaluate_every == 11 && job.threads == 12);
    EXPECT(!job.output_type_as_loaded && job.output_type == STORAGE_BF16 && job.allow_unused_tensors && job.allow_bad_weights);
    EXPECT_EQ(read_with("steps = 7; warmup_steps = 7; schedule = \"linear\"; output_type = \"float16\"", &job), OK);
    EXPECT(job.steps == 7 && job.warmup_steps == 7 && job.schedule == RATE_LINEAR && job.output_type == STORAGE_F16);
    EXPECT_EQ(read_with("output_type = \"float32\"; schedule = \"constant\"; start = \"checkpoint\"", &job), OK);
    EXPECT(job.output_type == STORAGE_F32 && !job.output_type_as_loaded && job.schedule == RATE_CONSTANT && !job.start_random);
}

TEST(L2_numbers)
{
    struct job job;
    EXPECT_EQ(read_with("learning_rate = 1;", &job), OK);
    EXPECT(job.learning_rate == 1.0);
    EXPECT_EQ(read_with("clip = 0x10;", &job), OK);
    EXPECT(job.clip == 16.0);
    EXPECT_EQ(read_with("epochs = 2.; clip = .5; weight_decay = 0;", &job), OK);
    EXPECT(job.epochs == 2.0 && job.clip == 0.5 && job.weight_decay == 0.0);
    refuse("learning_rate = 1e999;", "too large");
    refuse("learning_rate = -1e-4;", "learning_rate is -0.0001");
    refuse("learning_rate = 0;", "above 0");
    refuse("weight_decay = .;", "no number");
    refuse("weight_decay = -.;", "no number");
    refuse("weight_decay = .e5;", "no number");
    refuse("learning_rate = \"1e-4\";", "without quotes");
    refuse("learning_rate = nan;", "syntax error");
    refuse("learning_rate = -nan;", "no number");
    refuse("learning_rate = +inf;", "no number");
    refuse("learning_rate = 1e;", "no number");
    refuse("learning_rate = 1.5.2;", "no number");
    refuse("learning_rate = 12abc;", "no number");
    refuse("learning_rate = 0x;", "no number");
    refuse("learning_rate = true;", "must be a number");
    refuse("epsilon = 1e-400;", "epsilon is 0");
    refuse("beta2 = 1;", "beta2 is 1");
    refuse("beta2 = 0.99999999;", "beta2 is 1");
    refuse("learning_rate = 0.0000000000000000000000000000000000000000000000000000000000000001;", "a number of");
}

TEST(whole_numbers_are_not_cut_to_32_bits)
{
    struct job job;
    EXPECT_EQ(read_with("steps = 99999999999", &job), OK);
    EXPECT_EQ(job.steps, 99999999999);
    EXPECT_EQ(read_with("seed = 9223372036854775807", &job), OK);
    EXPECT_EQ(job.seed, INT64_MAX);
    EXPECT_EQ(read_with("seed = 0xFFFFFFFFFF;", &job), OK);
    EXPECT_EQ(job.seed, 0xFFFFFFFFFF);
    EXPECT_EQ(read_with("seed = 5000000000L;", &job), OK);
    EXPECT_EQ(job.seed, 5000000000);
    refuse("seed = 9223372036854775808;", "does not fit");
    refuse("steps = 99999999999999999999999;", "does not fit");
    refuse("steps = 2000000000000;", "steps is 2e+12");
    refuse("steps = 1e3;", "whole number");
    refuse("steps = 10.0;", "whole number");
    refuse("threads = 4294967297;", "threads is");
}

TEST(L3_unknown_key_names_the_nearest)
{
    refuse("learning_rte = 1e-4;", "job.cfg:2: unknown key learning_rte; did you mean learning_rate?");
    refuse("lerning_raet = 1e-4;", "did you mean learning_rate?");
    refuse("warmup_step = 3;", "did you mean warmup_steps?");
    refuse("output_typ = 3;", "did you mean output_type?");
    refuse("heldout = \"x\";", "did you mean held_out?");
    refuse("zzzzzzzzzzzz = 3;", "the known ones");
    refuse("a*b = 3;", "unknown key a*b");
}

TEST(L4_syntax)
{
    struct job job;
    refuse("/* no end", "comment");
    refuse("epochs = 2; /* no end", "job.cfg:2: the comment that begins here has no */");
    refuse("epochs = 2; epochs = 3;", "duplicate");
    refuse("held_out = \"x\n\";", "no closing");
    refuse("held_out = \"x", "no closing");
    refuse("held_out = \"x\\q\";", "holds \\q");
    refuse("epochs == 2;", "syntax error");
    refuse("epochs 2;", "syntax error");
    refuse("@include \"other.cfg\"", "@include");
    refuse("epochs = 2; @include \"other.cfg\"", "@include");
    refuse("epochs = [1, 2];", "no groups or lists");
    refuse("x = { y = 1; };", "no groups or lists");
    EXPECT_EQ(read_with("epochs = 2\nclip = 3 # no semicolon, comment without LF", &job), OK);
    EXPECT(job.epochs == 2 && job.clip == 3);
    EXPECT_EQ(read_with("/* \" ' { @include 9. . */ // \" {\n# \"\nheld_out = \"/* 1. # // @ { . \";", &job), OK);
    EXPECT(strstr(job.held_out, "/* 1. # // @ { . ") != NULL);
    EXPECT_EQ(read_with("epochs : 2,", &job), OK);
    EXPECT(job.epochs == 2);
}

TEST(L6_bytes)
{
    struct job job;
    EXPECT_EQ(read_text("", &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "key model is missing");
    EXPECT_EQ(read_text("# only a comment", &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "key model is missing");
    EXPECT_EQ(read_text("model = \"m\";", &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "key data is missing");
    EXPECT_EQ(read_text("model = \"m\"; data = \"d\"", &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "key output is missing");
    EXPECT_EQ(read_text("\xef\xbb\xbf" BASE, &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "byte-order mark");
    EXPECT_EQ(read_text("model = \"m\";\r\ndata = \"d\";\r\noutput = \"o\";\r\nsteps = 3\r\n", &job), OK);
    EXPECT_EQ(job.steps, 3);
    EXPECT(strcmp(job.output + strlen(job.output) - 2, "/o") == 0);
    EXPECT_EQ(read_bytes(BASE "epochs = 2;\0 clip = 3;", sizeof BASE + 22, &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "byte 0x00");
    EXPECT_EQ(read_text(BASE "\x80", &job), E_USAGE);
}

TEST(L7_ranges)
{
    refuse("steps = 3; warmup_steps = 4;", "more than the 3 steps");
    refuse("steps = 0;", "steps is 0");
    refuse("log_every = 0;", "log_every is 0");
    refuse("seed = -1;", "seed is -1");
    refuse("evaluate_every = -1;", "evaluate_every is -1");
    refuse("threads = 65;", "threads is 65");
    refuse("epochs = 0;", "epochs is 0");
    refuse("floor = 1.1;", "floor is 1.1");
    refuse("warmup_ratio = 1.5;", "warmup_ratio is 1.5");
    refuse("decay_ratio = 0;", "decay_ratio is 0");
    refuse("clip = -1;", "clip is -1");
    refuse("schedule = \"cosin\";", "\"constant\", \"linear\", \"cosine\", \"wsd\"");
    refuse("schedule = 3;", "in quotes");
    refuse("unused_tensors = true;", "\"refuse\", \"accept\"");
    refuse("output_type = \"fp32\";", "float32");
    refuse("evaluate_every = 3;", "no held_out to evaluate");
    refuse("epochs = 2; steps = 3;", "epochs and steps are both given");
    refuse("warmup_ratio = 0.1; warmup_steps = 3;", "both given");
}

TEST(L8_paths)
{
    struct job job;
    char line[6000], name[5001];
    EXPECT_EQ(read_with("held_out = \"sub/x.pack\";", &job), OK);
    snprintf(line, sizeof line, "%s/sub/x.pack", folder());
    EXPECT_TEXT(job.held_out, line);
    EXPECT_EQ(read_with("held_out = \"/x.pack\";", &job), OK);
    EXPECT_TEXT(job.held_out, "/x.pack");
    refuse("held_out = \"a\\x00b\";", "\\x00");
    refuse("held_out = \"\";", "empty");
    refuse("held_out = 3;", "path in quotes");
    memset(name, 'a', sizeof name);
    name[5000] = '\0';
    snprintf(line, sizeof line, BASE "held_out = \"%s\";\n", name);
    EXPECT_EQ(read_text(line, &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "at most 1023");
    EXPECT_EQ(read_text("data = \"d\"; output = \"o\"; start = \"random\";", &job), OK);
    EXPECT_TEXT(job.model, "");
}

TEST(L8_a_job_beside_the_program_has_paths_as_they_stand)
{
    struct job job;
    char here[512];
    EXPECT(getcwd(here, sizeof here) != NULL);
    write_job(BASE, strlen(BASE));
    EXPECT_EQ(chdir(folder()), 0);
    EXPECT_EQ(job_read("job.cfg", &job), OK);
    EXPECT_TEXT(job.output, "o");
    EXPECT_EQ(chdir(here), 0);
}

TEST(L10_limits)
{
    struct job job;
    size_t bytes = 30000000;
    char *text = malloc(bytes + 1);
    memset(text, 'a', bytes);
    memcpy(text, "model = \"", 9);
    memcpy(text + bytes - 3, "\";\n", 3);
    EXPECT_EQ(read_bytes(text, bytes, &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "at most 1048576");
    memset(text, '[', 200000);
    memcpy(text, "model = ", 8);
    EXPECT_EQ(read_bytes(text, 200000, &job), E_USAGE);
    EXPECT_HOLDS(status_message(), "no groups or lists");
    free(text);
}

TEST(what_is_no_regular_file_is_refused_without_waiting)
{
    struct job job;
    char path[512];
    status_quiet(true);
    EXPECT_EQ(job_read("/nowhere/job.cfg", &job), E_READ);
    EXPECT_EQ(job_read(folder(), &job), E_READ);
    EXPECT_EQ(job_read("/dev/zero", &job), E_READ);
    snprintf(path, sizeof path, "%s/fifo", folder());
    EXPECT_EQ(mkfifo(path, 0600), 0);
    EXPECT_EQ(job_read(path, &job), E_READ);
    EXPECT_HOLDS(status_message(), "no regular file");
    status_quiet(false);
}

/* Any text is taken or refused, never crashed on: a good job with random bytes exchanged. */
TEST(damaged_jobs_are_taken_or_refused)
{
    static const char good[] = BASE "steps = 10; learning_rate = 1e-4; /* c */ schedule = \"cosine\"; seed = 0x1f; # end\nclip = .5;";
    static const char odd[] = "\"\\/*#=;:.+-eE0x{}@\n\r\t \x80\xff";
    uint64_t state = test_seed();
    for (int round = 0; round < 3000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (int i = 0; i < 3; i++)
            text[test_random(&state) % (sizeof good - 1)] = odd[test_random(&state) % (sizeof odd)];
        struct job job;
        enum status status = read_bytes(text, sizeof good - 1, &job);
        EXPECT(status == OK || status == E_USAGE);
    }
}
