#!/bin/bash
# bench.sh: what `make bench` measures, interleaved in one run, since the machine's speed drifts: each round measures every side once, and medians
# are compared. Prints a table and writes BUILD/bench.json: a list with one object a measure: name, value, unit, baseline, ratio.
#
# usage: bench.sh BUILD [ROUNDS]
# PyTorch is found in $TORCH_PYTHON, else in .venv (made by `make golden`), else its measures are left out, and that is said.
set -u
build=$1 rounds=${2:-3} work=$1/bench
rm -rf "$work"; mkdir -p "$work"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
python=${TORCH_PYTHON:-.venv/bin/python}
torch=yes; "$python" -c 'import torch, transformers' 2> /dev/null || { torch=; echo "bench: no PyTorch in $python: its measures are left out (make golden installs it, or set TORCH_PYTHON)"; }

images() { make --no-print-directory -s "$@" image || exit 1; }
images BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=1
images BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=4 MICRO=1
images BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=8
images BOARD=host-x8 LAYOUT=pp2dp4 MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=2
make --no-print-directory -s "$build/test/bench/ceiling" "$build/test/bench/tokenizer_bench" "$build/test/layouts/mkdata" || exit 1
"$build/test/layouts/mkdata" "$work/data.pack" 512 64 49152 1

# run NAME IMAGE STEPS: a job from random weights; its summary goes to $work/NAME.json
run() {
    printf 'data = "data.pack"; output = "%s"; start = "random"; steps = %s; log_every = 1;\n' "$1" "$3" > "$work/$1.cfg"
    "$build/$2/smollm2-135m/full/nocturne" "$work/$1.cfg" > "$work/$1.log" 2>&1 || { tail -n 2 "$work/$1.log"; exit 1; }
    mv "$work/$1/summary.json" "$work/$1.json"; rm -rf "${work:?}/$1"
}
number() { tr -d '{} \n' < "$1" | tr ',' '\n' | sed -n 's/^"'"$2"'":"*\([^"]*\)"*$/\1/p' | head -n 1; }
# record SERIES VALUE; median SERIES
record() { echo "$2" >> "$work/$1.series"; }
median() { sort -g "$work/$1.series" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
rate() { awk -v n="$(number "$1" mfu_numerator)" -v s="$(number "$1" seconds)" 'BEGIN { print n / s / 1e9 }'; }
peer() { "$python" test/bench/peer_torch.py "$1" "$2" 2 > "$work/torch$1.json" 2> "$work/torch$1.log" || { tail -n 1 "$work/torch$1.log"; torch=; }; }

for round in $(seq "$rounds"); do
    echo "bench: round $round of $rounds"
    record ceiling1 "$("$build/test/bench/ceiling" 576 30 960 576 1536 49152 512 2)"
    run one host-x1/single+seq512+rows1+micro1 4
    record rate1 "$(rate "$work/one.json")"; record tokens1 "$(number "$work/one.json" tokens_per_second)"
    record boot "$(number "$work/one.json" boot_seconds)"; record peak1 "$(number "$work/one.json" peak_bytes)"
    if [ -n "$torch" ]; then peer 1 3; fi
    if [ -n "$torch" ]; then
        record torch1 "$(number "$work/torch1.json" tokens_per_second)"; record torch_start "$(number "$work/torch1.json" first_step_seconds)"
        record torch_peak1 "$(number "$work/torch1.json" peak_bytes)"
    fi
    [ "$round" -gt 1 ] && [ "$rounds" -gt 1 ] && [ "$round" -lt "$rounds" ] && continue      # the long ones in the first and last round only
    record ceiling4 "$("$build/test/bench/ceiling" 576 30 960 576 1536 49152 2048 2)"
    run four host-x1/single+seq512+rows4+micro1 2
    record rate4 "$(rate "$work/four.json")"; record tokens4 "$(number "$work/four.json" tokens_per_second)"; record peak4 "$(number "$work/four.json" peak_bytes)"
    if [ -n "$torch" ]; then peer 4 1; fi
    if [ -n "$torch" ]; then record torch4 "$(number "$work/torch4.json" tokens_per_second)"; record torch_peak4 "$(number "$work/torch4.json" peak_bytes)"; fi
    run single8 host-x1/single+seq512+rows1+micro8 1
    record single8 "$(number "$work/single8.json" tokens_per_second)"
    run ranks8 host-x8/pp2dp4+seq512+rows1+micro2 1
    record ranks8 "$(number "$work/ranks8.json" tokens_per_second)"
done

# Counts, by ==: products of one step are 2*M*N*K over forward, input gradient and weight gradient; nothing is allocated after SEAL.
per_token=$(awk 'BEGIN { print 3 * 2 * (30 * (960 * 576 + 576 * 576 + 3 * 1536 * 576) + 49152 * 576) }')
awk -v seen="$(number "$work/one.json" matmul_operations)" -v right="$(awk -v p="$per_token" 'BEGIN { printf "%.0f", p * 512 * 4 }')" \
    'BEGIN { exit seen != right }' || { echo "bench: FAIL: matmul_operations is $(number "$work/one.json" matmul_operations), right is 4 * 512 * $per_token"; exit 1; }
[ "$(number "$work/one.json" allocations_after_seal)" = 0 ] || { echo "bench: FAIL: allocations after SEAL"; exit 1; }

data=../shared/data
text=$data/datasets/llamafactory/wiki_demo.txt
for name in qwen2.5 llama3.2 llama2 smollm2; do
    [ -e "$data/tokenizers/$name/tokenizer.json" ] && [ -e "$text" ] || { echo "bench: $data is absent: the tokenizer is not measured"; break; }
    record "pack_$name" "$("$build/test/bench/tokenizer_bench" "$data/tokenizers/$name/tokenizer.json" "$text" | cut -d' ' -f1)"
    if "$python" -c 'import tokenizers' 2> /dev/null; then record "tokenizers_$name" "$("$python" test/bench/tokenizers_peer.py "$data/tokenizers/$name/tokenizer.json" "$text")"; fi
done

json=$build/bench.json first=1
echo "[" > "$json"
printf '%-52s %12s %-10s %12s %7s  %s\n' measure value unit baseline ratio aim
# measure NAME VALUE UNIT BASELINE AIM: ratio is value over baseline
measure() {
    local ratio=null base=${4:-null}
    [ "$base" = null ] || ratio=$(awk -v a="$2" -v b="$base" 'BEGIN { printf "%.3f", a / b }')
    printf '%-52s %12.4g %-10s %12s %7s  %s\n' "$1" "$2" "$3" "$( [ "$base" = null ] && echo - || printf '%.4g' "$base")" "$ratio" "$5"
    [ $first = 1 ] || echo "," >> "$json"; first=0
    printf ' {"name": "%s", "value": %s, "unit": "%s", "baseline": %s, "ratio": %s}' "$1" "$2" "$3" "$base" "$ratio" >> "$json"
}
has() { [ -e "$work/$1.series" ] && median "$1" || echo null; }
measure "sgemm ceiling, 512 rows" "$(median ceiling1)" GFLOP/s null ""
measure "sgemm ceiling, 2048 rows" "$(median ceiling4)" GFLOP/s null ""
measure "step against the ceiling, micro-batch 1" "$(median rate1)" GFLOP/s "$(median ceiling1)" "at least 0.80"
measure "step against the ceiling, micro-batch 4" "$(median rate4)" GFLOP/s "$(median ceiling4)" "at least 0.80"
measure "tokens against PyTorch, micro-batch 1" "$(median tokens1)" tokens/s "$(has torch1)" "at least 1.4"
measure "tokens against PyTorch, micro-batch 4" "$(median tokens4)" tokens/s "$(has torch4)" "at least 1.4"
measure "eight ranks (pp2dp4) against one, 8 rows" "$(median ranks8)" tokens/s "$(median single8)" "at least 0.85"
measure "start to first step against PyTorch" "$(median boot)" s "$(has torch_start)" "at most 0.1"
measure "peak memory against PyTorch, micro-batch 1" "$(median peak1)" bytes "$(has torch_peak1)" "at most 0.5"
measure "peak memory against PyTorch, micro-batch 4" "$(median peak4)" bytes "$(has torch_peak4)" "at most 0.5"
for name in qwen2.5 llama3.2 llama2 smollm2; do
    [ -e "$work/pack_$name.series" ] && measure "tokenizer $name against tokenizers, one thread" "$(median "pack_$name")" MB/s "$(has "tokenizers_$name")" "at least 3"
done
echo >> "$json"; echo "]" >> "$json"
