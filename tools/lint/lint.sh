#!/bin/bash
# lint.sh: numbered checks of the house rules (DESIGN.md: who may include whom). Prints what breaks them; exit status 1 if anything does.
#
# usage: lint.sh [ROOT [BUILD]]      checks the tree at ROOT (default .); with BUILD also the objects of the images built there
# 1 includes point the way they may   2 boards and layouts include nothing   3 nothing of run/ or save/ needs a boot function after SEAL
# 4 a file says first what it is for  5 no notes to oneself                  6 files stay small
set -u
root=${1:-.} build=${2:-}
found=0
report() { echo "lint $1: $2"; found=1; }
cd "$root" || exit 2

sources=$(find boards layouts platform kernels src tools -name '*.[ch]' | sort)

# ---- 1: folder, and what its includes of ours may begin with ----
rules='
src/main.c          ^(boot|run)/|^platform/(status|platform|comm)\.h|^config\.h
src/config.h        ^$
src/night.h         ^(file/packfile|tables)\.h|^kernels/kernels\.h|^platform/comm\.h
src/tables.h        ^platform/comm\.h
src/file/           ^file/|^platform/status\.h
src/save/           ^(save|file)/|^(tables|config|night)\.h|^platform/(status|platform|comm)\.h|^kernels/kernels\.h
src/boot/           ^(boot|save|file)/|^(tables|config|night)\.h|^platform/(status|platform|comm)\.h|^kernels/kernels\.h
src/run/            ^(run|save)/|^file/packfile\.h|^(tables|config|night)\.h|^platform/(status|platform|comm)\.h|^kernels/kernels\.h
kernels/            ^kernels/|^platform/platform\.h
platform/host/      ^platform/
platform/           ^platform/
tools/layoutc/      ^tools/layoutc/|^(src/)?(tables|config)\.h|^platform/status\.h|^kernels/kernels\.h|^src/|^required\.h
tools/verify/       ^tools/verify/|^(src/)?(tables|config)\.h|^platform/status\.h|^src/|^kernels/kernels\.h
tools/decode/       ^tools/(decode|pack)/|^file/|^kernels/kernels\.h|^platform/(status|platform)\.h
tools/gguf2hf/      ^tools/(gguf2hf|pack)/|^file/|^platform/status\.h
tools/pack/         ^tools/pack/|^(src/)?file/|^platform/status\.h
tools/              ^file/|^kernels/kernels\.h|^platform/(status|platform)\.h
'
echo "$rules" | awk 'NF == 2' > /tmp/lint.$$.rules
grep -Hn '^#include "' $sources | sed 's/#include "\([^"]*\)".*/\1/' | awk -v rules=/tmp/lint.$$.rules '
    BEGIN { while ((getline line < rules) > 0) { split(line, part, " "); n++; folder[n] = part[1]; allowed[n] = part[2] } FS = ":" }
    { for (i = 1; i <= n; i++) if (index($1, folder[i]) == 1) {
          if ($3 !~ allowed[i]) print "lint 1: " $1 ":" $2 " includes " $3 ", which its room may not see"
          break } }' > /tmp/lint.$$
if [ -s /tmp/lint.$$ ]; then cat /tmp/lint.$$; found=1; fi
rm -f /tmp/lint.$$ /tmp/lint.$$.rules

# ---- 2 ----
for file in $(find boards layouts -name '*.h'); do
    if grep -q '^ *# *include' "$file"; then report 2 "$file has an include; it is a list of constants"; fi
done

# ---- 3: what objects of run/ and save/ leave undefined, against what lies in the section boot_text ----
if [ -n "$build" ] && [ -d "$build" ]; then
    find "$build" -path '*/src/boot/*.o' -print0 | xargs -0 -r objdump -t 2> /dev/null |
        awk '$0 ~ / boot_text\t/ && $NF != "boot_text" { print $NF }' | sort -u > /tmp/lint.$$
    needed=$(find "$build" -path '*/src/run/*.o' -print0 | xargs -0 -r nm -u 2> /dev/null | awk 'NF == 2 { print $2 }' | sort -u | comm -12 - /tmp/lint.$$)
    for symbol in $needed; do report 3 "an object of src/run needs $symbol, a boot function, which cannot be run after SEAL"; done
    rm -f /tmp/lint.$$
fi

# ---- 4, 5, 6 ----
for file in $sources; do
    name=$(basename "$file")
    case $file in boards/*|layouts/*) name=$(basename "$(dirname "$file")") ;; esac
    if ! head -n 1 "$file" | grep -q '^/\*'; then report 4 "$file does not begin with a comment that says what it is for"; fi
    lines=$(wc -l < "$file")
    if [ "$lines" -gt 450 ]; then report 6 "$file has $lines lines; one noun fits into 400"; fi
done
notes=$(grep -nE '\b(TODO|FIXME|XXX)\b' $sources)
if [ -n "$notes" ]; then report 5 "$notes"; fi

[ $found -eq 0 ]
