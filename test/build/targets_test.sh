#!/bin/bash
# targets_test.sh: what make's targets say to arguments that they cannot honour.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; only=${only#targets}; only=${only#.}
work=$PWD/build/test/targets
rm -rf "$work"; mkdir -p "$work"

check() {    # check NAME COMMAND...: one line a test
    local name=$1; shift
    [ -n "$only" ] && [ "$only" != "$name" ] && return
    if "$@"; then echo "ok    targets.$name"; else echo "FAIL  targets.$name: $(tail -n 3 "$work/said" | tr '\n' ' ')"; fi
}

# no_such_test ID: run.sh says so and fails. In a folder of its own: it writes a log.
no_such_test() {
    ! test/run.sh "$work" "$1" > "$work/said" 2>&1 &&
        grep -q "^FAIL  $1: there is no test of that name" "$work/said" && grep -q ', 1 failed, ' "$work/said"
}
check a_test_in_no_file_is_a_failure      no_such_test nothing.such
check a_test_that_its_script_lacks_is_too no_such_test readme.nothing_such
check a_test_that_there_is_runs           eval 'test/run.sh "$work" readme.boards_are_those_there_are > "$work/said" 2>&1'

# refuses TEXT ARGUMENTS...: make ends with these words before it does anything
refuses() {
    local text=$1; shift
    ! make --no-print-directory "$@" > "$work/said" 2>&1 && grep -qF -- "$text" "$work/said" && [ "$(wc -l < "$work/said")" -eq 1 ]
}
own="make demo builds its own board and layout"
check the_demo_refuses_another_board      refuses "$own: BOARD=host-x4 cannot be honoured; MODEL= and DEMO_FOLDER= can" demo BOARD=host-x4
check the_demo_refuses_another_layout     refuses "$own: LAYOUT=tp8 cannot be honoured" demo LAYOUT=tp8
check the_demo_refuses_another_row_length refuses "$own: SEQ=64 cannot be honoured" demo SEQ=64
check the_recipe_refuses_another_model    refuses "make tiny builds its own board and layout: MODEL=tiny-llama cannot be honoured" tiny MODEL=tiny-llama
check the_demo_takes_another_model        eval 'make -n demo MODEL=smollm2-135m > "$work/said" 2>&1 && grep -q "LAYOUT=pp2dp4 MODEL=smollm2-135m" "$work/said"'

# The demo's last line, made in a folder with a space by make -n, and run with something that only tells its arguments.
tree="$work/a folder/with a model"
spaced() {
    mkdir -p "$tree" && cp -r Makefile boards layouts tools demo src test kernels platform "$tree/" && cp -r demo/model "$work/a folder/my model" || return 1
    printf '#!/bin/bash\nprintf "<%%s>" "$@"\n' > "$tree/tools/demo.sh"
    (cd "$tree" && make -n demo-run "$@" > ../plan 2>&1 && grep -A 1 'tools/demo.sh' ../plan > ../line && sh ../line) > "$work/said" 2>&1 &&
        grep -qF "<build><demo><build/host-x8/tp2pp2dp2+seq128+rows4+micro2/demo/full/nocturne><$model>" "$work/said"
}
model="$tree/demo/model"          check the_demo_runs_in_a_folder_with_a_space     spaced
model="$work/a folder/my model"   check the_demos_model_may_lie_in_such_a_folder   spaced "DEMO_FOLDER=../my model"
exit 0
