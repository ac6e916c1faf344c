#!/bin/bash
# run.sh BUILD [ID | quick]: runs the test programs under BUILD/test and the scripts test/*/*_test.sh, prints their lines, and closes with
# "N passed, N failed, N skipped". With ID only the program or script that has it, and it is a failure if no test has it; quick: programs only.
# Exit status 0 only if nothing failed.
set -u
build=$1 one=${2:-}
log=$build/test/log
mkdir -p "$build/test"
: > "$log"

run() {    # run NAME COMMAND...: a program that dies without saying so is a failure of its own
    local name=$1; shift
    "$@" > "$log.part" 2>&1
    local status=$?
    cat "$log.part" | tee -a "$log"
    if [ $status -ne 0 ] && ! grep -q '^FAIL' "$log.part"; then
        echo "FAIL  $name: ended with status $status" | tee -a "$log"
    fi
}

for test in "$build"/test/*/*_test test/*/*_test.sh; do
    [ -e "$test" ] || continue
    [ "$one" = quick ] && [ "${test##*.}" = sh ] && continue
    name=$(basename "$test"); name=${name%_test}; name=${name%_test.sh}
    if [ -n "$one" ] && [ "$one" != quick ]; then
        [ "$name" = "${one%%[.:]*}" ] || continue
        run "$name" "$test" "$one"
    else
        run "$name" "$test"
    fi
done
rm -f "$log.part"

# A script may run more than the test it was asked for, or nothing: what counts is that a line of that name came, or of one below it.
if [ -n "$one" ] && [ "$one" != quick ] && ! grep -q '^FAIL' "$log"; then
    id=${one%%:*}
    awk -v id="$id" '{ name = $2; sub(/:$/, "", name) } name == id || index(name, id ".") == 1 || index(name, id "_") == 1 { found = 1 } END { exit !found }' "$log" || {
        names=$(ls test/*/*_test.c test/*/*_test.sh | sed 's|.*/||; s/_test\..*//' | sort -u | xargs)
        echo "FAIL  $id: there is no test of that name; ONE= takes file or file.name, and the files are: $names" | tee -a "$log"
    }
fi

passed=$(grep -c '^ok ' "$log"); skipped=$(grep -c '^skip ' "$log")
failed=$(sed -n 's/^FAIL  \([^:]*\):.*/\1/p' "$log" | sort -u | wc -l)
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
