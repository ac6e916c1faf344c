#!/bin/bash
# reproducible_test.sh: the same inputs give the same bytes: an image built in another folder is identical, and with clang it builds as well.
set -u
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/elsewhere"
tar cf - --exclude=./build --exclude=./.git --exclude=./.venv . | tar xf - -C "$copy/elsewhere"
options="BOARD=host-x2 LAYOUT=tp2 MODEL=tiny-qwen2"
image=host-x2/tp2/tiny-qwen2/full
make --no-print-directory -s $options > "$copy/log" 2>&1 || { echo "FAIL  reproducible.builds: $(tail -n 1 "$copy/log")"; exit 1; }
(cd "$copy/elsewhere" && env -i PATH="$PATH" HOME=/nonexistent make --no-print-directory -s $options BUILD=other) > "$copy/log" 2>&1 ||
    { echo "FAIL  reproducible.builds_elsewhere: $(tail -n 1 "$copy/log")"; exit 1; }
for file in nocturne tables.c; do
    if cmp -s build/$image/$file "$copy/elsewhere/other/$image/$file"; then echo "ok    reproducible.${file%.c}_is_the_same_in_another_folder"
    else echo "FAIL  reproducible.${file%.c}_is_the_same_in_another_folder: build/$image/$file differs from the copy's"; fi
done
if diff <(grep -v revision build/$image/manifest.json) <(grep -v revision "$copy/elsewhere/other/$image/manifest.json") > "$copy/log"; then
    echo "ok    reproducible.manifest_is_the_same_but_for_the_revision"
else echo "FAIL  reproducible.manifest_is_the_same_but_for_the_revision: $(head -n 2 "$copy/log" | tail -n 1)"; fi
if ldd build/$image/nocturne 2>&1 | grep -q 'not a dynamic executable\|statically linked'; then echo "ok    reproducible.the_image_is_static"
else echo "FAIL  reproducible.the_image_is_static: ldd lists libraries"; fi
if ! command -v clang > /dev/null; then echo "skip  reproducible.clang_builds_without_a_warning: no clang here"; exit 0; fi
if (cd "$copy/elsewhere" && make --no-print-directory -s CC=clang BUILD=clang $options) > "$copy/log" 2>&1; then echo "ok    reproducible.clang_builds_without_a_warning"
else echo "FAIL  reproducible.clang_builds_without_a_warning: $(grep -m 1 error "$copy/log")"; fi
exit 0
