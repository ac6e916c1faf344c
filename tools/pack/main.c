/* main.c: the program pack; what it does is in pack.c. */
#include "tools/pack/pack.h"

int main(int argc, char **argv)
{
    status_program("pack");
    return pack_main(argc, argv);
}
