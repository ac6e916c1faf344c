/* table_test.c: schedules given as tables in files: taken as they stand, or refused with file, line, cell and what is allowed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/tables/samples.h"
#include "tools/layoutc/chunks.h"
#include "tools/layoutc/order.h"

static char path[] = "/tmp/nocturne-table-XXXXXX";

static void write_table(const char *text)
{
    static bool made;
    int file = made ? -1 : mkstemp(path);
    if (file >= 0)
        close(file);
    made = true;
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
}

/* Two stages, three micro-batches. */
static struct input with_table(void)
{
    struct input in = *sample(0);
    in.board.devices_per_node = in.board.link_group_devices = 2;
    in.layout.pp = 2;
    in.layout.micro_batches = 3;
    in.layout.schedule = ORDER_TABLE;
    in.layout.schedule_file = path;
    return in;
}

static bool same_steps(const struct program *a, const struct program *b)
{
    if (a->steps != b->steps)
        return false;
    for (int32_t i = 0; i < a->steps; i++)
        if (a->step[i].kind != b->step[i].kind || a->step[i].micro != b->step[i].micro || a->step[i].layer != b->step[i].layer)
            return false;
    return true;
}

TEST(a_table_of_zb_h1_gives_its_programs)
{
    struct input in = with_table(), plain = in;
    struct draft table, made;
    plain.layout.schedule = ORDER_ZB_H1;
    write_table("# stage by stage\n0F0, 0F1, , 0I0, 0W0, 0F2, 0I1, 0W1, , 0I2, 0W2\n\n,F0,I0,F1,I1,W0,F2,I2,W1,W2\n");
    EXPECT_EQ(draft_make(&table, &in), OK);
    EXPECT_EQ(draft_make(&made, &plain), OK);
    for (int s = 0; s < 2; s++)
        EXPECT(same_steps(&table.stage[s].train, &made.stage[s].train));
    draft_free(&table);
    draft_free(&made);
    unlink(path);
}

/* The cells of a schedule as a table, written with their virtual stages. */
static void table_of(char text[4096], const struct layout_input *l)
{
    struct cell cell[64];
    size_t used = 0;
    for (int32_t s = 0; s < l->pp; s++) {
        int64_t cells = order_cells(cell, l, s);
        for (int64_t c = 0; c < cells; c++) {
            int64_t v = 0;
            while (chunk_at(l, v).pp != s || chunk_at(l, v).chunk != cell[c].chunk)
                v++;
            used += (size_t)sprintf(text + used, "%d%c%d,", (int)v, "FBIW"[cell[c].kind], (int)cell[c].micro);
        }
        used += (size_t)sprintf(text + used, "\n");
    }
}

TEST(tables_with_chunks_give_the_programs_of_interleaved_1f1b_and_zb_v)
{
    static const enum schedule schedules[] = { ORDER_INTERLEAVED, ORDER_ZB_V };
    for (int i = 0; i < ELEMENTS_OF(schedules); i++) {
        struct input in = with_table(), plain;
        struct draft table, made;
        char text[4096];
        in.layout.chunks = 2;
        in.layout.folded = schedules[i] == ORDER_ZB_V;
        in.layout.folded_value = in.layout.folded;
        plain = in;
        plain.layout.schedule = schedules[i];
        table_of(text, &plain.layout);
        write_table(text);
        EXPECT_EQ(draft_make(&table, &in), OK);
        EXPECT_EQ(draft_make(&made, &plain), OK);
        for (int s = 0; s < 2; s++)
            EXPECT(same_steps(&table.stage[s].train, &made.stage[s].train));
        draft_free(&table);
        draft_free(&made);
    }
    status_quiet(true);
    struct input in = with_table();
    struct draft draft;
    in.layout.chunks = 2;
    write_table("0F0,1F0\n");
    EXPECT_EQ(draft_make(&draft, &in), E_USAGE);
    EXPECT(strstr(status_message(), "stage 0, cell \"1F0\": it is of another stage") != NULL);
    draft_free(&draft);
    write_table("F0\n");
    EXPECT_EQ(draft_make(&draft, &in), E_USAGE);
    EXPECT(strstr(status_message(), "begins with its virtual stage, from 0 to") != NULL);
    draft_free(&draft);
    status_quiet(false);
    unlink(path);
}

TEST(what_is_wrong_in_a_table_is_said)
{
    static const struct {
        const char *table, *says;
    } cases[] = {
        { "F0,F1,F2,B0,B1,B2\n", "it has lines for 1 stages, LAYOUT_PP of layouts/sample.h is 2" },
        { "F0,F1,F2,B0,B1,B2\nF0,B0,F1,B1,F2,B2\nF0\n", ":3: a line for stage 2" },
        { "F0,F1,F2,B0,B1,B2\nF0,B0,F1,B1,F2\n", ":2: stage 1 does not finish micro-batch 2" },
        { "F0,F1,F2,B0,B2,B1\n", ":1: stage 0, cell \"B2\": backward passes follow the micro-batches' order" },
        { "F0,F1,F2,I0,I1,I2,W1\n", "cell \"W1\": gradients of weights (B, W) follow" },
        { "F0,B1\n", "cell \"B1\": its forward pass comes first" },
        { "F0,F0\n", "cell \"F0\": its forward pass stands there before" },
        { "F0,W0\n", "cell \"W0\": I of this micro-batch comes first" },
        { "F0,F3\n", "cell \"F3\": the layout has no such micro-batch" },
        { "F0,F99999999999999999999\n", "the layout has no such micro-batch" },
        { "F0,X1\n", "cell \"X1\": a cell is F, B, I or W" },
        { "F0,F-1\n", "cell \"F-1\": a cell is F, B, I or W" },
        { "F0,B\n", "cell \"B\": a cell is F, B, I or W" },
        { "1F0\n", "cell \"1F0\": it is of another stage" },
        { "", "it has lines for 0 stages" },
    };
    status_quiet(true);
    for (int i = 0; i < ELEMENTS_OF(cases); i++) {
        struct input in = with_table();
        struct draft draft;
        write_table(cases[i].table);
        EXPECT_EQ(draft_make(&draft, &in), E_USAGE);
        if (strstr(status_message(), cases[i].says) == NULL)
            test_fail(__FILE__, __LINE__, "case %d: \"%s\" does not hold \"%s\"", i, status_message(), cases[i].says);
        draft_free(&draft);
    }
    struct input in = with_table();
    struct draft draft;
    in.layout.schedule_file = "/nowhere/table.csv";
    EXPECT_EQ(draft_make(&draft, &in), E_READ);
    draft_free(&draft);
    status_quiet(false);
    unlink(path);
}

/* Each stage is right alone, but the first wants the gradient of a micro-batch before it has sent it on: the second waits for it too. */
TEST(tables_that_wait_in_a_circle_are_named_by_the_verifier)
{
    struct input in = with_table();
    struct draft draft;
    struct copy copy;
    write_table("F0,B0,F1,F2,B1,B2\nF0,F1,B0,B1,F2,B2\n");
    EXPECT_EQ(draft_make(&draft, &in), OK);
    copy_make(&copy, &draft);
    status_quiet(true);
    EXPECT_EQ(verify(&copy.tables, &copy.facts), E_SOFTWARE);
    EXPECT(strncmp(status_message(), "no_circle:", 10) == 0);
    status_quiet(false);
    copy_free(&copy);
    draft_free(&draft);
    unlink(path);
}
