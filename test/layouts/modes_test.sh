#!/bin/bash
# modes_test.sh: what changes when things are computed or sent, but not what, changes no bit: each mode of a layout against the same cut without it.
set -u
cd "$(dirname "$0")/../.."
work=build/test/layouts/modes
compare=build/test/layouts/compare
rm -rf $work; mkdir -p $work
make --no-print-directory -s $compare build/test/layouts/mkdata || { echo "FAIL  modes.build: the helpers of this test do not build"; exit 1; }
build/test/layouts/mkdata $work/train.pack 64 37 259 1      # 37 rows and batches of 8: the epoch's last batch is short
build/test/layouts/mkdata $work/held.pack 64 11 259 2

# train MODEL RANKS CUT NAME MICRO [CONSTANT VALUE]...: a layout of its own beside layouts/CUT.h, its image, its run
train() {
    local model=$1 ranks=$2 cut=$3 name=$4 micro=$5; shift 5
    local layout=$cut-$name header=$work/$cut-$name.h
    cp layouts/$cut.h $header
    while [ $# -gt 0 ]; do
        sed -i "/define $1 /d" $header
        printf '#define %s %s\n' "$1" "$2" >> $header
        shift 2
    done
    make --no-print-directory -s BOARD=host-x$ranks LAYOUTS=$work LAYOUT=$layout MODEL=$model SEQ=64 ROWS=1 MICRO=$micro > $work/$model-$layout.log 2>&1 || return 1
    cat > $work/$model-$layout.cfg <<CFG
model = "$PWD/test/golden/$model"; data = "train.pack"; held_out = "held.pack"; output = "$model-$layout";
steps = 20; learning_rate = 3e-3; warmup_steps = 4; evaluate_every = 10; log_every = 1; threads = 1; output_type = "float32";
CFG
    build/host-x$ranks/$layout+seq64+rows1+micro$micro/$model/full/nocturne $work/$model-$layout.cfg >> $work/$model-$layout.log 2>&1
}

# same MODEL RANKS CUT MICRO PLAIN NAME [CONSTANT VALUE]...: the mode's bits are those of the run PLAIN of the same cut
same() {
    local model=$1 ranks=$2 cut=$3 micro=$4 plain=$5 name=$6; shift 6
    local id=modes.${model}_${cut}_$name
    train $model $ranks $cut $name $micro "$@" || { echo "FAIL  $id: $(tail -n 1 $work/$model-$cut-$name.log)"; return; }
    if cmp -s $work/$model-$cut-$name/model.safetensors $work/$model-$plain/model.safetensors; then
        echo "ok    $id: the bits of $plain"
    else
        echo "FAIL  $id: not the bits of $plain, losses differ by $($compare losses $work/$model-$cut-$name/metrics.jsonl $work/$model-$plain/metrics.jsonl)"
    fi
}
# Whole rows on every TP rank, and rows of their own between the tensor-parallel regions: the norms' gradients are sums in another order, so
# losses and parameters are held to the bounds of layouts_test.sh, which says why.
near() {    # near MODEL RANKS CUT MICRO PLAIN NAME [CONSTANT VALUE]...
    local model=$1 ranks=$2 cut=$3 micro=$4 plain=$5 name=$6; shift 6
    local id=modes.${model}_${cut}_$name
    train $model $ranks $cut $name $micro "$@" || { echo "FAIL  $id: $(tail -n 1 $work/$model-$cut-$name.log)"; return; }
    local loss tensor
    loss=$($compare losses $work/$model-$cut-$name/metrics.jsonl $work/$model-$plain/metrics.jsonl) || { echo "FAIL  $id: no losses to compare"; return; }
    tensor=$($compare tensors $work/$model-$cut-$name $work/$model-$plain) || { echo "FAIL  $id: no tensors to compare"; return; }
    if awk -v l="${loss%% *}" -v t="${tensor%% *}" 'BEGIN { exit !(l <= 1e-5 && t <= 1e-4) }'; then
        echo "ok    $id: losses within ${loss%% *} of $plain, parameters within ${tensor%% *}"
    else
        echo "FAIL  $id: losses differ by ${loss%% *} from $plain (at most 1e-5), parameters by $tensor (at most 1e-4)"
    fi
}
for cut in "tiny-qwen3 2 tp2 8" "tiny-mistral 2 pp2 8" "tiny-qwen2 1 single 8"; do
    set -- $cut
    train $1 $2 $3 plain $4 || echo "FAIL  modes.$1_$3_plain: $(tail -n 1 $work/$1-$3-plain.log)"
    same $1 $2 $3 $4 $3-plain selective LAYOUT_RECOMPUTE RECOMPUTE_SELECTIVE
    same $1 $2 $3 $4 $3-plain full LAYOUT_RECOMPUTE RECOMPUTE_FULL
    same $1 $2 $3 $4 $3-plain layers LAYOUT_RECOMPUTE RECOMPUTE_LAYERS LAYOUT_RECOMPUTE_LAYERS 1
done
same tiny-mistral 2 pp2 8 pp2-plain zb-h1 LAYOUT_SCHEDULE SCHEDULE_ZB_H1
same tiny-mistral 2 pp2 8 pp2-plain zb-h1-full LAYOUT_SCHEDULE SCHEDULE_ZB_H1 LAYOUT_RECOMPUTE RECOMPUTE_FULL
echo "F0,F1,I0,F2,I1,W0,F3,I2,W1,F4,I3,W2,F5,I4,W3,F6,I5,W4,F7,I6,W5,I7,W6,W7
F0,B0,F1,B1,F2,B2,F3,B3,F4,B4,F5,B5,F6,B6,F7,B7" > $work/table.csv
same tiny-mistral 2 pp2 8 pp2-plain table LAYOUT_SCHEDULE SCHEDULE_TABLE LAYOUT_SCHEDULE_FILE "\"$work/table.csv\""
same tiny-mistral 2 pp2 8 pp2-plain interleaved LAYOUT_SCHEDULE SCHEDULE_INTERLEAVED LAYOUT_CHUNKS 4
same tiny-mistral 2 pp2 8 pp2-plain zb-v LAYOUT_SCHEDULE SCHEDULE_ZB_V
near tiny-qwen3 2 tp2 8 tp2-plain whole-rows LAYOUT_SEQUENCE_PARALLEL 0
train tiny-llama 8 tp4pp2 plain 8 || echo "FAIL  modes.tiny-llama_tp4pp2_plain: $(tail -n 1 $work/tiny-llama-tp4pp2-plain.log)"
same tiny-llama 8 tp4pp2 8 tp4pp2-plain zb-h1 LAYOUT_SCHEDULE SCHEDULE_ZB_H1
train tiny-qwen2 4 pp4 plain 6 || echo "FAIL  modes.tiny-qwen2_pp4_plain: $(tail -n 1 $work/tiny-qwen2-pp4-plain.log)"
same tiny-qwen2 4 pp4 6 pp4-plain zb-h1 LAYOUT_SCHEDULE SCHEDULE_ZB_H1
same tiny-qwen2 4 pp4 6 pp4-plain zb-h2 LAYOUT_SCHEDULE SCHEDULE_ZB_H2
same tiny-qwen2 4 pp4 6 pp4-plain interleaved LAYOUT_SCHEDULE SCHEDULE_INTERLEAVED LAYOUT_CHUNKS 2
same tiny-qwen2 4 pp4 6 pp4-plain zb-v LAYOUT_SCHEDULE SCHEDULE_ZB_V LAYOUT_RECOMPUTE RECOMPUTE_SELECTIVE
same tiny-qwen2 4 pp4 6 pp4-plain by-hand LAYOUT_STAGE_LAYERS "{ 1, 4, 1, 2 }"
near tiny-llama 8 tp4pp2 8 tp4pp2-plain whole-rows LAYOUT_SEQUENCE_PARALLEL 0
same tiny-llama 8 tp4pp2 8 tp4pp2-whole-rows whole-rows-full LAYOUT_SEQUENCE_PARALLEL 0 LAYOUT_RECOMPUTE RECOMPUTE_FULL
# What is cut over DP. ZeRO 0 takes the same sums as ZeRO 1, in one piece; from ZeRO 2 on the sums over replicas are taken micro-batch by micro-batch, in
# another order, so losses and parameters are held to the bounds of layouts_test.sh. How many layers a bucket has changes nothing.
train tiny-qwen2 4 dp4 plain 2 || echo "FAIL  modes.tiny-qwen2_dp4_plain: $(tail -n 1 $work/tiny-qwen2-dp4-plain.log)"
same tiny-qwen2 4 dp4 2 dp4-plain zero-0 LAYOUT_ZERO 0
same tiny-qwen2 4 dp4 2 dp4-plain zero-0-buckets LAYOUT_ZERO 0 LAYOUT_BUCKET_LAYERS 3
same tiny-qwen2 4 dp4 2 dp4-plain zero-1-buckets LAYOUT_BUCKET_LAYERS 8
near tiny-qwen2 4 dp4 2 dp4-plain zero-2 LAYOUT_ZERO 2
same tiny-qwen2 4 dp4 2 dp4-zero-2 zero-2-buckets LAYOUT_ZERO 2 LAYOUT_BUCKET_LAYERS 5
same tiny-qwen2 4 dp4 2 dp4-zero-2 zero-3 LAYOUT_ZERO 3
same tiny-qwen2 4 dp4 2 dp4-zero-2 zero-3-buckets LAYOUT_ZERO 3 LAYOUT_BUCKET_LAYERS 4 LAYOUT_RECOMPUTE RECOMPUTE_FULL
train tiny-qwen3 8 tp2pp2dp2 plain 4 || echo "FAIL  modes.tiny-qwen3_tp2pp2dp2_plain: $(tail -n 1 $work/tiny-qwen3-tp2pp2dp2-plain.log)"
same tiny-qwen3 8 tp2pp2dp2 4 tp2pp2dp2-plain zero-0 LAYOUT_ZERO 0
near tiny-qwen3 8 tp2pp2dp2 4 tp2pp2dp2-plain zero-2 LAYOUT_ZERO 2
same tiny-qwen3 8 tp2pp2dp2 4 tp2pp2dp2-zero-2 zero-3 LAYOUT_ZERO 3 LAYOUT_BUCKET_LAYERS 2
same tiny-qwen3 8 tp2pp2dp2 4 tp2pp2dp2-zero-2 zero-3-v LAYOUT_ZERO 3 LAYOUT_SCHEDULE SCHEDULE_ZB_V
train tiny-qwen2 4 pp2dp2 plain 4 || echo "FAIL  modes.tiny-qwen2_pp2dp2_plain: $(tail -n 1 $work/tiny-qwen2-pp2dp2-plain.log)"
near tiny-qwen2 4 pp2dp2 4 pp2dp2-plain zero-2 LAYOUT_ZERO 2
same tiny-qwen2 4 pp2dp2 4 pp2dp2-zero-2 zero-3-v LAYOUT_ZERO 3 LAYOUT_SCHEDULE SCHEDULE_ZB_V
exit 0
