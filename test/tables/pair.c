/* pair.c: makes and proves the tables of the headers that it was compiled with (linked with that image's input.o); prints one line.
 *
 * For headers_test.sh, which tries every model with every layout. Exit status 0, 64 where layoutc refuses, 70 where verify does. */
#include "test/tables/samples.h"

int main(void)
{
    struct input input;
    struct draft draft;
    struct copy copy;
    status_program("layoutc");
    if (input_read(&input) != OK)
        return E_READ;
    enum status status = draft_make(&draft, &input);
    if (status == OK) {
        copy_make(&copy, &draft);
        status = verify(&copy.tables, &copy.facts);
        copy_free(&copy);
    }
    if (status == OK)
        printf("ok %s/%s/%s arena %lld bound %lld\n", input.board.name, input.layout.name, input.model.name, (long long)draft.arena_bytes,
               (long long)draft.stage[draft.fullest].arena_bound_bytes);
    draft_free(&draft);
    return status;
}
