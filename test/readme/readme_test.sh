#!/bin/bash
# readme_test.sh: README.md's tables are true: every model, board, layout, job key, make target and exit code there is, and nothing else.
set -u
cd "$(dirname "$0")/../.."
check() {    # check ID MISSING EXTRA
    if [ -z "$2$3" ]; then echo "ok    readme.$1"; else echo "FAIL  readme.$1: not in README: ${2:-none}; in README only: ${3:-none}"; fi
}
# names of files against the first column (or all columns) of the table whose head matches
compare() {  # compare ID "names that there are" "names in README"
    local have said
    have=$(echo $2 | tr ' ' '\n' | sort -u); said=$(echo $3 | tr ' ' '\n' | sort -u)
    check "$1" "$(comm -23 <(echo "$have") <(echo "$said") | xargs)" "$(comm -13 <(echo "$have") <(echo "$said") | xargs)"
}
table() {    # table HEAD COLUMN: that column of the table whose head line begins so
    awk -v head="$1" -v column="$2" -F'|' 'index($0, head) == 1 { on = 1; getline; next } on && !/^\|/ { exit } on { print $(column + 1) }' README.md | tr ',`/' '   '
}
compare models_are_those_there_are "$(ls layouts/models | sed 's/\.h$//')" "$(table '| model (' 1)"
compare boards_are_those_there_are "$(ls boards)" "$(table '| board (' 1)"
compare layouts_are_those_there_are "$(ls layouts/*.h | sed 's|.*/||; s/\.h$//')" "$(table '| ranks |' 2)"
compare job_keys_are_those_there_are "$(sed -n 's/^    { "\([a-z_0-9]*\)", .*/\1/p' src/boot/job.c)" "$(table '| key |' 1)"
compare exit_codes_are_those_there_are "$(sed -n 's/^    \(OK\|E_[A-Z]*\) = \([0-9]*\),.*/\2/p' platform/status.h)" "$(table '| code |' 1)"
targets=$(grep -o '`make [a-z]*' README.md | sed 's/`make //' | sort -u)
missing=""
for target in $targets; do grep -q "^$target:" Makefile || missing="$missing $target"; done
check make_targets_it_names_are_there "" "$missing"
exit 0
