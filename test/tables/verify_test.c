/* verify_test.c: good tables pass, and tables broken in one way are caught by the proof that means it. */
#include "test/tables/breaks.h"

enum { SEEDS = 3 };

static bool names_proof(const char *message, const char *proof_name)
{
    size_t length = strlen(proof_name);
    return strncmp(message, proof_name, length) == 0 && message[length] == ':';
}

TEST(good_tables_pass)
{
    for (int i = 0; sample(i) != NULL; i++) {
        struct draft draft;
        struct copy copy;
        EXPECT_EQ(draft_make(&draft, sample(i)), OK);
        copy_make(&copy, &draft);
        if (verify(&copy.tables, &copy.facts) != OK)
            test_fail(__FILE__, __LINE__, "%s: %s", sample(i)->layout.name, status_message());
        copy_free(&copy);
        draft_free(&draft);
    }
}

TEST(every_break_is_caught_by_its_proof)
{
    status_quiet(true);
    int64_t caught = 0;
    for (int b = 0; b < ELEMENTS_OF(breaks); b++) {
        int applied = 0;
        for (int i = 0; sample(i) != NULL; i++) {
            struct draft draft;
            if (draft_make(&draft, sample(i)) != OK) {
                test_fail(__FILE__, __LINE__, "%s: %s", sample(i)->layout.name, status_message());
                draft_free(&draft);
                continue;
            }
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                struct copy copy;
                copy_make(&copy, &draft);
                state = test_seed() * 1000 + seed * 100 + (uint64_t)i;
                if (breaks[b].change(&copy)) {
                    applied++;
                    enum status status = verify(&copy.tables, &copy.facts);
                    bool named = status != OK && names_proof(status_message(), breaks[b].proof_name);
                    caught += named;
                    if (!named)
                        test_fail(__FILE__, __LINE__, "%s on %s, seed %d: %s is expected to say it, verify says \"%s\"", breaks[b].name,
                                  sample(i)->layout.name, (int)seed, breaks[b].proof_name, status == OK ? "nothing" : status_message());
                }
                copy_free(&copy);
            }
            draft_free(&draft);
        }
        if (applied == 0)
            test_fail(__FILE__, __LINE__, "%s was applied to no layout", breaks[b].name);
    }
    status_quiet(false);
    printf("      %lld breaks of %lld kinds caught\n", (long long)caught, (long long)ELEMENTS_OF(breaks));
}
