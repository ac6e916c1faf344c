#!/bin/bash
# lint_test.sh: the tree keeps the rules of the house, and each check finds a violation planted in a copy of it.
cd "$(dirname "$0")/../.." || exit 1
if found=$(tools/lint/lint.sh . build); then echo "ok    lint.the_tree_keeps_the_rules"; else echo "$found" | sed 's/^/FAIL  lint.the_tree_keeps_the_rules: /'; fi
if found=$(tools/lint/planted.sh); then echo "ok    lint.every_check_finds_what_is_planted"; else echo "$found" | grep NOT | sed 's/^/FAIL  lint.every_check_finds_what_is_planted: /'; fi
exit 0
