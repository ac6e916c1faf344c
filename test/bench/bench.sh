#!/bin/bash
# bench.sh: what `make bench` measures, interleaved in one run, since the machine's speed drifts: each round measures every side once, and medians
# of the rounds are compared. Prints a table and writes BUILD/bench.json: a list with one object a measure: name, value, unit, baseline, ratio.
#
# usage: bench.sh BUILD [ROUNDS [PART]]      PART: one of short, four, ranks, tensor_ranks, tokenizers, scale; all where none is given
# PyTorch is looked for in $TORCH_PYTHON, .venv/bench and .venv (made by `make golden`); else it is installed in .venv/bench. Where that fails, its
# measures are left out with a line that begins with "skipped:". BENCH_SECONDS bounds the rounds after the first; BENCH_INSTALL=no installs nothing.
#
# Invariants:
# 1. Both sides of a ratio are measured next to each other, in every round: a part that no longer fits into BENCH_SECONDS loses both.
# 2. Where the sides cannot be treated alike, the other side gains: our rate is over all steps, PyTorch's is its median step after the first, which
#    warms up; the sgemm ceiling is the best of three repeats of each product.
# 3. What can be counted is checked by ==: operations in products, ids of the tokenizers, allocations after SEAL. A wrong count ends the run.
set -u
build=$1 rounds=${2:-3} only=${3:-} work=$1/bench limit=${BENCH_SECONDS:-540}
rm -rf "$work"; mkdir -p "$work"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
skip() { echo "skipped: $*"; }
stop() { echo "bench: FAIL: $*"; exit 1; }
every="short four ranks tensor_ranks tokenizers scale"
for part in $only; do case " $every " in *" $part "*) ;; *) stop "ONLY=$only: there are: $every" ;; esac; done
parts=${only:-$every}
# any PART...: whether one of them is measured
any() { local part; for part in "$@"; do case " $parts " in *" $part "*) return 0 ;; esac; done; return 1; }

# ---- what is measured ----
has_torch() { [ -x "$1" ] && "$1" -c 'import torch, transformers, tokenizers' 2> /dev/null; }
find_torch() {
    for python in ${TORCH_PYTHON:-.venv/bench/bin/python .venv/bin/python}; do has_torch "$python" && return 0; done
    [ -z "${TORCH_PYTHON:-}" ] && [ "${BENCH_INSTALL:-yes}" = yes ] || return 1
    echo "bench: installing torch, transformers and tokenizers in .venv/bench (gigabytes; BENCH_INSTALL=no goes without)"
    python=.venv/bench/bin/python
    python3 -m venv .venv/bench > "$work/pip.log" 2>&1 && timeout 1800 .venv/bench/bin/pip install --quiet torch transformers tokenizers >> "$work/pip.log" 2>&1 &&
        has_torch "$python" && return 0
    tail -n 1 "$work/pip.log"; return 1
}
torch=
if any short four tokenizers; then torch=yes; find_torch || { torch=; skip "PyTorch's measures: no torch, transformers and tokenizers in ${TORCH_PYTHON:-.venv/bench}"; }; fi

make_image() { make --no-print-directory -s "$@" image > "$work/make.log" 2>&1 || { cat "$work/make.log"; exit 1; }; }
any short && make_image BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=1
any four && make_image BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=4 MICRO=1
any ranks && make_image BOARD=host-x1 LAYOUT=single MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=8 &&
    make_image BOARD=host-x8 LAYOUT=pp2dp4 MODEL=smollm2-135m SEQ=512 ROWS=1 MICRO=2
any tensor_ranks && make_image BOARD=host-x1 LAYOUT=single MODEL=demo SEQ=128 ROWS=4 MICRO=4 &&
    make_image BOARD=host-x8 LAYOUT=tp2pp2dp2 MODEL=demo SEQ=128 ROWS=4 MICRO=2
make --no-print-directory -s $(for name in bench/ceiling bench/tokenizer_bench bench/spent layouts/mkdata; do echo "$build/test/$name"; done) || exit 1
"$build/test/layouts/mkdata" "$work/smollm2-135m.pack" 512 64 49152 1 || exit 1
"$build/test/layouts/mkdata" "$work/demo.pack" 128 512 640 1 || exit 1

# ---- one measurement ----
number() { tr -d '{} \n' < "$1" | tr ',' '\n' | sed -n 's/^"'"$2"'":"*\([^"]*\)"*$/\1/p' | head -n 1; }
record() { [ -n "$2" ] && echo "$2" >> "$work/$1.series"; }
median() { sort -g "$work/$1.series" | awk '{ v[NR] = $1 } END { printf "%.12g\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
# products LAYERS HIDDEN QKV ATTENTION INTERMEDIATE VOCABULARY: operations a token: forward, input gradient and weight gradient, 2*M*N*K each
products() { awk -v l="$1" -v h="$2" -v q="$3" -v a="$4" -v i="$5" -v v="$6" 'BEGIN { printf "%.0f", 6 * (l * (q * h + h * a + 3 * i * h) + v * h) }'; }
smollm2_135m=$(products 30 576 960 576 1536 49152) demo=$(products 4 128 256 128 352 640)
# run NAME IMAGE MODEL THREADS STEPS STEP_TOKENS: a job from random weights, without an evaluation. Its summary goes to $work/NAME.json
run() {
    local per_token=$smollm2_135m; [ "$3" = demo ] && per_token=$demo
    printf 'data = "%s.pack"; output = "%s"; start = "random"; threads = %s; steps = %s; log_every = 1;\n' "$3" "$1" "$4" "$5" > "$work/$1.cfg"
    "$build/$2/$3/full/nocturne" "$work/$1.cfg" > "$work/$1.log" 2>&1 || stop "$1: $(tail -n 1 "$work/$1.log")"
    mv "$work/$1/summary.json" "$work/$1.json"; rm -rf "${work:?}/$1"
    local seen right=$((per_token * $5 * $6)); seen=$(number "$work/$1.json" matmul_operations)
    [ "$seen" = "$right" ] || stop "$1: matmul_operations is $seen; $5 steps of $6 tokens at $per_token are $right"
    seen=$(number "$work/$1.json" allocations_after_seal)
    [ "$seen" = 0 ] || stop "$1: $seen allocations after SEAL; right is 0"
}
rate() { awk -v n="$(number "$1" mfu_numerator)" -v s="$(number "$1" seconds)" 'BEGIN { print n / s / 1e9 }'; }
ceiling() { "$build/test/bench/ceiling" 576 30 960 576 1536 49152 "$1" 2; }
# peer ROWS STEPS: $work/torchROWS.json. A failure is the end of PyTorch's measures
settings=
peer() {
    [ -n "$torch" ] || return 1
    local needed=$((3 + 3 * $1))      # GiB: above what it was seen to take, so that no other process is killed for it
    [ "$(awk '/MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge $needed ] || { skip "PyTorch at micro-batch $1: $needed GiB are not free"; return 1; }
    env $settings "$python" test/bench/peer_torch.py "$1" "$2" 2 > "$work/torch$1.json" 2> "$work/torch$1.log" && return 0
    torch=; skip "PyTorch: $(tail -n 1 "$work/torch$1.log")"; return 1
}
# Its best thread settings: one step under each, and the fastest is used from then on.
choose_settings() {
    local best=0 best_settings= seen candidate
    for candidate in "OMP_PROC_BIND=close OMP_PLACES=cores" "OMP_PROC_BIND=close OMP_PLACES=cores OMP_WAIT_POLICY=active" ""; do
        settings=$candidate; peer 1 1 || return
        seen=$(number "$work/torch1.json" tokens_per_second)
        if awk -v a="$seen" -v b="$best" 'BEGIN { exit !(a > b) }'; then best=$seen; best_settings=$candidate; fi
    done
    settings=$best_settings
    echo "bench: PyTorch $(number "$work/torch1.json" torch), 2 threads, ${settings:-no settings}"
}

# ---- the parts of a round ----
short() {
    record ceiling1 "$(ceiling 512)"
    run one host-x1/single+seq512+rows1+micro1 smollm2-135m 2 5 512
    record rate1 "$(rate "$work/one.json")"; record tokens1 "$(number "$work/one.json" tokens_per_second)"
    record boot "$(number "$work/one.json" boot_seconds)"; record peak1 "$(number "$work/one.json" peak_bytes)"
    peer 1 3 || return
    record torch1 "$(number "$work/torch1.json" tokens_per_second)"; record torch_start "$(number "$work/torch1.json" first_step_seconds)"
    record torch_peak1 "$(number "$work/torch1.json" peak_bytes)"
}
four() {
    record ceiling4 "$(ceiling 2048)"
    run four host-x1/single+seq512+rows4+micro1 smollm2-135m 2 2 2048
    record rate4 "$(rate "$work/four.json")"; record tokens4 "$(number "$work/four.json" tokens_per_second)"; record peak4 "$(number "$work/four.json" peak_bytes)"
    peer 4 1 || return
    record torch4 "$(number "$work/torch4.json" tokens_per_second)"; record torch_peak4 "$(number "$work/torch4.json" peak_bytes)"
}
ranks() {
    run single8 host-x1/single+seq512+rows1+micro8 smollm2-135m 2 1 4096; record single8 "$(number "$work/single8.json" tokens_per_second)"
    run ranks8 host-x8/pp2dp4+seq512+rows1+micro2 smollm2-135m 1 1 4096; record ranks8 "$(number "$work/ranks8.json" tokens_per_second)"
}
tensor_ranks() {
    run demo1 host-x1/single+seq128+rows4+micro4 demo 2 30 2048; record demo1 "$(number "$work/demo1.json" tokens_per_second)"
    run demo8 host-x8/tp2pp2dp2+seq128+rows4+micro2 demo 1 30 2048; record demo8 "$(number "$work/demo8.json" tokens_per_second)"
}
data=../shared/data text=../shared/data/datasets/llamafactory/wiki_demo.txt
tokenizers() {
    local name ours theirs
    for name in qwen2.5 llama3.2 llama2 smollm2; do
        [ -e "$data/tokenizers/$name/tokenizer.json" ] && [ -e "$text" ] || { skip "the tokenizer $name: it or the text is not under $data"; continue; }
        ours=$("$build/test/bench/tokenizer_bench" "$data/tokenizers/$name/tokenizer.json" "$text") || stop "tokenizer_bench $name"
        record "pack_$name" "${ours% *}"
        theirs=$("$python" test/bench/tokenizers_peer.py "$data/tokenizers/$name/tokenizer.json" "$text" 2> "$work/tokenizers.log") ||
            { skip "the tokenizers package: $(tail -n 1 "$work/tokenizers.log")"; continue; }
        [ "${ours#* }" = "${theirs#* }" ] || stop "tokenizer $name: ${ours#* } ids, the tokenizers package makes ${theirs#* }"
        record "tokenizers_$name" "${theirs% *}"
    done
}

# Tables of Llama 3's shapes on clusters of H100: all that make does up to their proof, compilers and links among it; only layoutc's and verify's
# own objects are there. Peak memory is that of the largest process.
sizes="1:128 8:1024 128:16384"      # replicas of 128 ranks (tp8 pp16), and ranks
MOST_SECONDS=60 MOST_MIB=4096       # what the largest may take
record most_seconds $MOST_SECONDS; record most_mib $MOST_MIB
scale() {
    local model size ranks image seconds mib
    make --no-print-directory -s "$build/lib/liblayoutc.a" "$build/lib/libverify.a" "$build/lib/tools/layoutc/main.o" "$build/lib/tools/verify/main.o" || exit 1
    for model in llama3.1-70b llama3.1-405b; do
        for size in $sizes; do
            ranks=${size#*:} image=$build/h100x${size#*:}/tp8pp16dp${size%:*}/$model/full
            rm -rf "$image"
            read -r seconds mib <<< "$("$build/test/bench/spent" make --no-print-directory -s BUILD="$build" BOARDS=test/bench/scale LAYOUTS=test/bench/scale \
                BOARD="h100x$ranks" LAYOUT="tp8pp16dp${size%:*}" MODEL="$model" "$image/verified" 2> "$work/scale.log")"
            grep -qs " $ranks ranks," "$image/verified" || stop "$model on $ranks ranks: $(tail -n 1 "$work/scale.log")"
            record "seconds_${model}_$ranks" "$seconds"; record "mib_${model}_$ranks" "$mib"
            record "rank_${model}_$ranks" "$(awk -v s="$seconds" -v r="$ranks" 'BEGIN { print 1000 * s / r }')"
        done
    done
}

begun=$SECONDS
[ -z "$torch" ] || ! any short four || choose_settings
declare -A took
for round in $(seq "$rounds"); do
    echo "bench: round $round of $rounds, after $((SECONDS - begun)) s"
    for part in $parts; do
        [ "$round" -gt 1 ] && [ $((SECONDS - begun + took[$part])) -gt "$limit" ] && { skip "$part in round $round: BENCH_SECONDS is $limit"; continue; }
        at=$SECONDS; $part; took[$part]=$((SECONDS - at))
    done
done

# ---- the table ----
json=$build/bench.json first=1
echo "[" > "$json"
printf '\n%-52s %12s %-10s %12s %7s  %-9s %-6s\n' measure value unit baseline ratio aim rounds
# measure NAME SERIES UNIT BASELINE_SERIES AIM: medians; ratio is value over baseline. AIM: "min x", "max x" or nothing
measure() {
    [ -e "$work/$2.series" ] || return
    local value base=null ratio=null shown=- verdict=
    value=$(median "$2")
    if [ -n "$4" ] && [ -e "$work/$4.series" ]; then
        base=$(median "$4"); shown=$(printf '%.4g' "$base")
        ratio=$(awk -v a="$value" -v b="$base" 'BEGIN { printf "%.3f", a / b }')
        verdict=$(awk -v r="$ratio" -v aim="$5" 'BEGIN { split(aim, a, " "); print ((a[1] == "min" ? r >= a[2] + 0 : r <= a[2] + 0) ? "reached" : "missed") }')
    fi
    printf '%-52s %12.4g %-10s %12s %7s  %-9s %-6s %s\n' "$1" "$value" "$3" "$shown" "$ratio" "$5" "$(wc -l < "$work/$2.series")" "$verdict"
    [ $first = 1 ] || echo "," >> "$json"; first=0
    printf ' {"name": "%s", "value": %s, "unit": "%s", "baseline": %s, "ratio": %s}' "$1" "$value" "$3" "$base" "$ratio" >> "$json"
}
measure "sgemm ceiling, 512 rows" ceiling1 GFLOP/s "" ""
measure "sgemm ceiling, 2048 rows" ceiling4 GFLOP/s "" ""
measure "step against the ceiling, micro-batch 1" rate1 GFLOP/s ceiling1 "min 0.80"
measure "step against the ceiling, micro-batch 4" rate4 GFLOP/s ceiling4 "min 0.80"
measure "tokens against PyTorch, micro-batch 1" tokens1 tokens/s torch1 "min 1.4"
measure "tokens against PyTorch, micro-batch 4" tokens4 tokens/s torch4 "min 1.4"
measure "eight ranks (pp2dp4) against one, 8 rows" ranks8 tokens/s single8 "min 0.85"
measure "eight ranks (tp2pp2dp2) against one, demo's model" demo8 tokens/s demo1 "min 0.85"
measure "start to first step against PyTorch" boot s torch_start "max 0.1"
measure "peak memory against PyTorch, micro-batch 1" peak1 bytes torch_peak1 "max 0.5"
measure "peak memory against PyTorch, micro-batch 4" peak4 bytes torch_peak4 "max 0.5"
for name in qwen2.5 llama3.2 llama2 smollm2; do measure "tokenizer $name against tokenizers, one thread" "pack_$name" MB/s "tokenizers_$name" "min 3"; done
for model in llama3.1-70b llama3.1-405b; do
    for size in $sizes; do
        ranks=${size#*:} name="${model#llama3.1-} on $ranks ranks"
        measure "tables of $name against $MOST_SECONDS s" "seconds_${model}_$ranks" s most_seconds "max 1"
        measure "tables of $name against $MOST_MIB MiB" "mib_${model}_$ranks" MiB most_mib "max 1"
        measure "tables of $name, a rank against one of 128" "rank_${model}_$ranks" ms/rank "rank_${model}_128" "max 1.1"
    done
done
echo >> "$json"; echo "]" >> "$json"
echo "bench: $((SECONDS - begun)) s; what was counted (operations, ids, allocations) is right; written to $json"
