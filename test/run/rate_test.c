/* Exact learning-rate tables: warm-up of 0, 1, 4 and all steps, each schedule's last step, floors. */
#include "run/rate.h"
#include "test/test.h"

static struct job job_of(enum rate_schedule schedule, int64_t steps, int64_t warmup)
{
    return (struct job){
        .steps = steps, .learning_rate = 1.0, .schedule = schedule, .floor = 0.1, .warmup_steps = warmup, .decay_ratio = 0.25,
    };
}

/* The sums are of a few fp64 roundings. */
#define EXPECT_RATE(job, step, right) EXPECT_NEAR(rate_at(&(job), step), right, 1e-14)

TEST(warm_up_rises_from_the_first_step_and_ends_at_the_full_rate)
{
    struct job job = job_of(RATE_CONSTANT, 10, 4);
    EXPECT_RATE(job, 1, 0.25);
    EXPECT_RATE(job, 4, 1.0);
    EXPECT_RATE(job, 5, 1.0);
    job.warmup_steps = 1;
    EXPECT_RATE(job, 1, 1.0);
    job.warmup_steps = 10;
    EXPECT_RATE(job, 10, 1.0);
    EXPECT_RATE(job, 5, 0.5);
    job.warmup_steps = 0;
    EXPECT_RATE(job, 1, 1.0);
}

TEST(a_warm_up_ratio_is_rounded_up)
{
    struct job job = job_of(RATE_CONSTANT, 30, -1);
    job.warmup_ratio = 0.05;
    EXPECT_RATE(job, 1, 0.5);
    EXPECT_RATE(job, 2, 1.0);
}

TEST(every_falling_schedule_ends_at_the_floor)
{
    for (int schedule = RATE_LINEAR; schedule <= RATE_WSD; schedule++)
        for (int64_t warmup = 0; warmup < 8; warmup += 4) {
            struct job job = job_of((enum rate_schedule)schedule, 8, warmup);
            EXPECT_RATE(job, 8, 0.1);
            for (int64_t step = warmup + 1; step < 8; step++)
                EXPECT(rate_at(&job, step) >= rate_at(&job, step + 1));
        }
}

TEST(the_middle_of_each_schedule)
{
    struct job job = job_of(RATE_LINEAR, 12, 2);
    EXPECT_RATE(job, 7, 0.55);
    job.schedule = RATE_COSINE;
    EXPECT_RATE(job, 7, 0.55);
    EXPECT_RATE(job, 2, 1.0);
    job.schedule = RATE_WSD;                /* the last 3 of 12 steps fall: 0.7, 0.4, 0.1 */
    EXPECT_RATE(job, 9, 1.0);
    EXPECT_RATE(job, 10, 0.1 + 0.9 * 2.0 / 3.0);
    EXPECT_RATE(job, 12, 0.1);
}
