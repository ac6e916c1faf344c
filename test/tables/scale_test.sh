#!/bin/bash
# scale_test.sh: tables of large clusters are made and proved in little memory, and the work grows as ranks and micro-batches do.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; only=${only#scale}; only=${only#.}
work=build/test/scale
rm -rf $work; mkdir -p $work

check() {    # check NAME CONDITION...: one line a test
    local name=$1; shift
    [ -n "$only" ] && [ "$only" != "$name" ] && return
    if "$@"; then echo "ok    scale.$name"; else echo "FAIL  scale.$name: $(tail -n 3 $work/said | tr '\n' ' ')"; fi
}

# What make does for an image of 1,024 ranks up to its proof, in a folder of its own: the largest process, the C compiler, was seen to take 30 MiB.
MOST_MIB=128
thousand_ranks() {
    local where="BOARDS=test/bench/scale LAYOUTS=test/bench/scale BOARD=h100x1024 LAYOUT=tp8pp16dp8" image=h100x1024/tp8pp16dp8/$1/full
    make --no-print-directory -s build/test/bench/spent > $work/said 2>&1 && rm -rf build/$image &&
        build/test/bench/spent make --no-print-directory -s $where MODEL=$1 build/$image/verified > $work/spent 2> $work/said || return 1
    echo "$1: seconds and MiB were $(cat $work/spent); allowed are $MOST_MIB MiB" > $work/said
    grep -q ' 1024 ranks,' build/$image/verified && awk -v most=$MOST_MIB '{ exit !($2 <= most) }' $work/spent
}
check a_thousand_ranks_of_70b_are_made_and_proved_in_128_mib  thousand_ranks llama3.1-70b
check a_thousand_ranks_of_405b_are_made_and_proved_in_128_mib thousand_ranks llama3.1-405b

# Work is counted in basic blocks, so it is the same in every run.
make_work() {
    [ -x $work/work ] && return
    local flags="-std=c11 -D_GNU_SOURCE -O1 -I. -Isrc" sources
    sources=$(ls tools/layoutc/*.c tools/verify/*.c | grep -v -e '/input.c' -e '/main.c' -e '/facts.c')
    gcc $flags -c test/tables/work.c -o $work/work.o > $work/said 2>&1 &&
        gcc $flags -fsanitize-coverage=trace-pc $work/work.o $sources platform/status.c -o $work/work > $work/said 2>&1
}

# linear COLUMN A B C, each "REPLICAS MICRO_BATCHES": what one more of that column costs from B to C is at most a twentieth more than from A to B. A
# part that grows with the square is seen once it is a fifteenth of the work at C.
linear() {
    local column=$1 point; shift
    make_work || return 1
    for point in "$@"; do echo "$point $($work/work $point 2>> $work/said)"; done > $work/points
    awk -v column=$column '{ at[NR] = $column; blocks[NR] = $3 } END {
        first = (blocks[2] - blocks[1]) / (at[2] - at[1]); then = (blocks[3] - blocks[2]) / (at[3] - at[2])
        printf "blocks for one more: %.0f, then %.0f, ratio %.4f; allowed is 1.05\n", first, then, then / first
        exit !(NR == 3 && first > 0 && then > 0 && then <= 1.05 * first) }' $work/points >> $work/said
}
check work_grows_with_ranks_as_they_do          linear 1 "8 16" "32 16" "128 16"
check work_grows_with_micro_batches_as_they_do  linear 2 "8 32" "8 64" "8 128"
exit 0
