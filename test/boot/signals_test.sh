#!/bin/bash
# signals_test.sh: a run that a signal ends leaves the earlier model as it was, and the next run clears the drafts. Image as in refusals_test.sh.
set -u
cd "$(dirname "$0")/../.."
work=$PWD/build/test/boot/signals model=tiny-llama golden=test/golden/tiny-llama
image=build/host-x2/tp2+seq64+rows1+micro8/$model/full/nocturne
rm -rf "$work"; mkdir -p "$work"
make --no-print-directory -s build/test/boot/spoil && make --no-print-directory -s BOARD=host-x2 LAYOUT=tp2 MODEL=$model SEQ=64 ROWS=1 MICRO=8 > "$work/log" ||
    { echo "FAIL  signals.build: the image does not build"; exit 1; }
build/test/boot/spoil pack "$work/train.pack" 20 64 "$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' $golden/config.json)" 100 -
job() { echo "model = \"$PWD/$golden\"; start = \"random\"; data = \"train.pack\"; output = \"out\"; steps = $1; log_every = 1;" > "$work/job.cfg"; }
for signal in TERM INT; do
    job 2; $image "$work/job.cfg" > "$work/log" 2>&1; before=$(sha256sum "$work/out/model.safetensors")
    drafts=$(find "$work/out" -name '*.tmp' | wc -l)
    job 100000; env --default-signal=$signal timeout -s $signal 3 $image "$work/job.cfg" > "$work/log" 2>&1
    if [ "$drafts" -eq 0 ] && grep -q '^RUN' "$work/log" && grep -q '^OUTPUT.*earlier run' "$work/log" && [ ! -e "$work/out/summary.json" ] && [ -e "$work/out/model.safetensors.tmp" ] && [ "$(sha256sum "$work/out/model.safetensors")" = "$before" ]; then
        echo "ok    signals.$signal"
    else
        echo "FAIL  signals.$signal: $(tail -n 1 "$work/log"); $(ls "$work/out" | xargs)"
    fi
done
job 2; $image "$work/job.cfg" > "$work/log" 2>&1
[ -z "$(find "$work/out" -name '*.tmp')" ] && [ -e "$work/out/summary.json" ] && echo "ok    signals.the_next_run_clears_drafts" || echo "FAIL  signals.the_next_run_clears_drafts: $(ls "$work/out" | xargs)"
exit 0
