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
exit 0
