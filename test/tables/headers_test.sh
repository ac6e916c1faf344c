#!/bin/bash
# headers_test.sh: what make says about boards, layouts, models and methods; every shipped layout with every shipped model.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; only=${only#headers.}
build=build/test/headers
rm -rf $build; mkdir -p $build
make="make --no-print-directory -s BUILD=build"

check() {    # check NAME CONDITION...: one line a test
    local name=$1; shift
    [ -n "$only" ] && [ "$only" != "$name" ] && return
    if "$@"; then echo "ok    headers.$name"; else echo "FAIL  headers.$name: $(tail -n 3 $build/said | tr '\n' ' ')"; fi
}

# says STATUS TEXT ARGUMENTS...: make with these arguments ends so and says so, within two lines of its own and layoutc's
says() {
    local status=$1 text=$2; shift 2
    $make "$@" > $build/said 2>&1
    local seen=$?
    [ $seen -eq "$status" ] && grep -qF -- "$text" $build/said && [ "$(grep -c . $build/said)" -le 2 ]
}

check an_unknown_board_lists_those_there_are   says 2 "BOARD=dgx: there is no boards/dgx/board.mk; there are: dgx-a100x8 " BOARD=dgx size
check an_unknown_layout_lists_those_there_are  says 2 "LAYOUT=tp3: there is no layouts/tp3.h; there are: dp2 " LAYOUT=tp3 size
check an_unknown_model_lists_those_there_are   says 2 "MODEL=gpt-2: there is no layouts/models/gpt-2.h; there are: demo llama3.1-405b " MODEL=gpt-2 size
check an_unknown_method_lists_those_there_are  says 2 "METHOD=lora: there is no layouts/methods/lora.h; there are: full" METHOD=lora size
check a_layout_of_another_board_is_refused     says 2 "layouts/tp2.h: LAYOUT_TP 2 x LAYOUT_PP 1 x LAYOUT_DP 1 = 2 ranks, but boards/host-x8/board.h has" LAYOUT=tp2
check heads_that_tp_does_not_divide            says 2 "LAYOUT_TP is 2; it does not divide MODEL_HEADS 9 of layouts/models/smollm2-135m.h; for this model LAYOUT_TP may be 1, 3" MODEL=smollm2-135m
check more_stages_than_layers                  says 2 "LAYOUT_PP is 8 stages, but layouts/models/stories260k.h has MODEL_LAYERS 5" LAYOUT=pp8 MODEL=stories260k
check a_sequence_above_the_models_positions    says 2 "make: SEQ is 512, but layouts/models/tiny-llama.h has MODEL_POSITIONS 256" SEQ=512
check memory_that_does_not_fit                 says 2 "more than BOARD_DEVICE_MEMORY_BYTES of boards/host-x8/board.h, which is 2.50 GiB; largest: saved activations" \
                                                      LAYOUT=dp8 MODEL=smollm2-135m SEQ=2048
whole="allowed is a whole number from 1 to 999999999, in digits alone"
check no_micro_batches                         says 2 "MICRO is 0; $whole" MICRO=0
check a_sequence_that_is_no_number             says 2 "SEQ is abc; $whole" SEQ=abc
check a_negative_number_of_rows                says 2 "ROWS is -1; $whole" ROWS=-1
check an_octal_number                          says 2 "ROWS is 010; $whole" ROWS=010
check two_numbers_for_one                      says 2 "SEQ is 1 2; $whole" "SEQ=1 2"
check a_number_with_a_unit                     says 2 "SEQ is 4k; $whole" SEQ=4k
check a_number_beyond_any_int                  says 2 "SEQ is 99999999999; $whole" SEQ=99999999999
check too_many_micro_batches                   says 2 "make: MICRO is 999999999; allowed are 1 to" MICRO=999999999
check a_missing_constant_is_named              bash -c "
    printf '#define BOARD_NAME \"x\"\n#define BOARD_NODES 1\n' > $build/board.h
    gcc -std=c11 -I. -Isrc -DBOARD_HEADER='\"$build/board.h\"' -DLAYOUT_HEADER='\"layouts/single.h\"' -DMODEL_HEADER='\"layouts/models/tiny-llama.h\"' \
        -DMETHOD_HEADER='\"layouts/methods/full.h\"' -fsyntax-only tools/layoutc/input.c > $build/said 2>&1
    grep -q \"error: #error \\\"the board's header lacks BOARD_DEVICES_PER_NODE\\\"\" $build/said"

# Tables know no folder: two builds in two folders, by two compilers, are the same bytes.
same_bytes() {
    $make SEQ=64 build/host-x8/tp2pp2dp2+seq64/tiny-llama/full/tables.c > $build/said 2>&1 &&
    make --no-print-directory -s BUILD=$build/clang CC=clang SEQ=64 $build/clang/host-x8/tp2pp2dp2+seq64/tiny-llama/full/tables.c >> $build/said 2>&1 &&
    cmp build/host-x8/tp2pp2dp2+seq64/tiny-llama/full/tables.c $build/clang/host-x8/tp2pp2dp2+seq64/tiny-llama/full/tables.c >> $build/said 2>&1 &&
    ! grep -qF "$PWD" build/host-x8/tp2pp2dp2+seq64/tiny-llama/full/tables.c
}
check two_builds_in_two_folders_give_the_same_tables same_bytes

overrides_named() {
    $make SEQ=32 ROWS=2 MICRO=3 build/host-x8/tp2pp2dp2+seq32+rows2+micro3/tiny-llama/full/verified > $build/said 2>&1 &&
    grep -q 'image_name\[\] = "host-x8/tp2pp2dp2+seq32+rows2+micro3/tiny-llama/full"' build/host-x8/tp2pp2dp2+seq32+rows2+micro3/tiny-llama/full/tables.c &&
    grep -q 'MICRO_BATCHES == 3 && MICRO_BATCH_TOKENS == 64' build/host-x8/tp2pp2dp2+seq32+rows2+micro3/tiny-llama/full/tables.c
}
check overrides_are_in_the_images_name overrides_named

hashes_differ() {    # one hash for each input
    local seq
    for seq in 16 32 64; do $make SEQ=$seq build/host-x8/tp2pp2dp2+seq$seq/tiny-llama/full/tables.c || return 1; done > $build/said 2>&1
    [ "$(grep -h image_inputs build/host-x8/tp2pp2dp2+seq{16,32,64}/tiny-llama/full/tables.c | sort -u | wc -l)" -eq 3 ]
}
check other_inputs_have_another_hash hashes_differ

cuda_says_so() {
    $make BOARD=dgx-a100x8 LAYOUT=tp4pp2 > $build/said 2>&1 &&
    grep -q '^fullest rank: ' $build/said && grep -q 'The image for a CUDA board is not part of this version: no binary was linked' $build/said
}
check a_cuda_board_gets_tables_and_says_that_it_gets_no_image cuda_says_so

# Every layout with every model, on each board with that many devices: tables that verify passes, or a refusal of a known kind.
pair() {    # pair BOARD LAYOUT MODEL
    local dir=$build/pairs/$1/$2/$3
    mkdir -p $dir
    gcc -std=c11 -D_GNU_SOURCE -O0 -I. -Isrc -DBOARD_HEADER="\"boards/$1/board.h\"" -DLAYOUT_HEADER="\"layouts/$2.h\"" \
        -DMODEL_HEADER="\"layouts/models/$3.h\"" -DMETHOD_HEADER='"layouts/methods/full.h"' \
        tools/layoutc/input.c build/lib/test/tables/pair.o build/lib/liblayoutc.a build/lib/libverify.a -lxxhash -lm -o $dir/pair 2>&1 &&
        $dir/pair 2>&1
    rm -f $dir/pair
}
export -f pair; export build
every_pair() {
    local board layout model degrees ranks devices
    make --no-print-directory -s build/lib/test/tables/pair.o build/lib/liblayoutc.a build/lib/libverify.a > $build/said 2>&1 || return 1
    for board in host-x1 host-x2 host-x4 host-x8 dgx-a100x8; do
        devices=$(sed -n 's/^#define BOARD_DEVICES_PER_NODE *\([0-9]*\).*/\1/p' boards/$board/board.h)
        for layout in $(basename -s .h layouts/*.h); do
            ranks=$(awk '$2 ~ /^LAYOUT_(TP|PP|DP|CP)$/ { n = (n ? n : 1) * $3 } END { print n }' layouts/$layout.h)
            [ "$ranks" = "$devices" ] || continue
            for model in $(basename -s .h layouts/models/*.h); do echo "$board $layout $model"; done
        done
    done > $build/list
    xargs -P 2 -L 1 bash -c 'pair "$@" || true' pair < $build/list > $build/pairs.said
    grep -v -E -e '^ok ' -e 'LAYOUT_TP is .* for this model LAYOUT_TP may be [0-9, ]+$' -e 'LAYOUT_PP is .* LAYOUT_PP may be 1 to [0-9]+$' \
        -e 'bytes \(.*\) more than BOARD_DEVICE_MEMORY_BYTES .* (would fit|a smaller model)$' $build/pairs.said > $build/said
    [ ! -s $build/said ] && [ "$(wc -l < $build/pairs.said)" -eq "$(wc -l < $build/list)" ] && [ "$(grep -c '^ok ' $build/pairs.said)" -gt 100 ]
}
check every_layout_with_every_model_is_proved_or_refused_in_words every_pair
exit 0
