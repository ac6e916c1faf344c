#!/bin/bash
# planted.sh: each check of lint.sh finds a violation planted in a copy of the tree. A check that finds nothing is no check.
#
# usage: planted.sh [BUILD]
set -u
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
missed=0

plant() {    # plant NUMBER FILE TEXT: appends the text to the file of a fresh copy
    rm -rf "$copy/tree"; mkdir "$copy/tree"
    cp -r boards layouts platform kernels src tools "$copy/tree/"
    printf '%b\n' "$3" >> "$copy/tree/$2"
    if tools/lint/lint.sh "$copy/tree" | grep -q "^lint $1: .*$4"; then
        echo "planted $1: found in $2"
    else
        echo "planted $1: NOT found in $2"; missed=1
    fi
}
plant 1 src/run/feed.c '#include "boot/boot.h"' boot/boot.h
plant 1 src/file/packfile.c '#include "tables.h"' tables.h
plant 1 kernels/host/adamw.c '#include "night.h"' night.h
plant 1 platform/host/clock.c '#include "kernels/kernels.h"' kernels.h
plant 1 tools/verify/main.c '#include "tools/layoutc/draft.h"' draft.h
plant 2 layouts/tp2.h '#include <stdint.h>' tp2.h
plant 5 src/run/play.c '/* TODO */' TODO
plant 6 src/run/play.c "$(yes '/* line */' | head -n 500)" play.c
rm -rf "$copy/tree"; mkdir "$copy/tree"; cp -r boards layouts platform kernels src tools "$copy/tree/"
printf 'int nameless;\n' > "$copy/tree/src/run/nameless.c"
if tools/lint/lint.sh "$copy/tree" | grep -q '^lint 4: .*nameless.c'; then echo "planted 4: found"; else echo "planted 4: NOT found"; missed=1; fi

# 3: an object of run/ that calls a boot function.
mkdir -p "$copy/objects/src/run" "$copy/objects/src/boot"
printf '__attribute__((section("boot_text"))) void planted_boot(void) { }\n' > "$copy/b.c"
printf 'void planted_boot(void); void planted_run(void); void planted_run(void) { planted_boot(); }\n' > "$copy/r.c"
${CC:-gcc} -c "$copy/b.c" -o "$copy/objects/src/boot/b.o" && ${CC:-gcc} -c "$copy/r.c" -o "$copy/objects/src/run/r.o"
if tools/lint/lint.sh . "$copy/objects" | grep -q '^lint 3: .*planted_boot'; then echo "planted 3: found"; else echo "planted 3: NOT found"; missed=1; fi
exit $missed
