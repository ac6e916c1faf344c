#!/bin/bash
# layouts_test.sh: every layout is the same training. For each tiny model and every cut of 1, 2, 4 and 8 ranks: losses over 20 steps and the
# final parameters against the single rank's; to the bit for pipeline cuts, for repeated runs and for any number of threads.
#
# The loss bound of 1e-5: cuts change only the order of fp32 additions. A loss is a mean of about 250 terms, each through about 40 products of
# up to 96 terms: sqrt(40 * 96) * 2^-24 = 4e-6 relative at the worst, before 20 steps of training let it grow.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; model_only=${only#layouts.}; [ "$model_only" = "$only" ] && model_only=""; model_only=${model_only%%_*}
work=build/test/layouts/runs
compare=build/test/layouts/compare
rm -rf $work; mkdir -p $work
make --no-print-directory -s $compare build/test/layouts/mkdata || { echo "FAIL  layouts.build: the helpers of this test do not build"; exit 1; }
build/test/layouts/mkdata $work/train.pack 64 37 259 1      # 37 rows and batches of 8: the epoch's last batch is short
build/test/layouts/mkdata $work/held.pack 64 11 259 2

cuts="1:single 2:tp2 2:pp2 2:dp2 4:tp4 4:pp4 4:dp4 4:tp2pp2 4:tp2dp2 4:pp2dp2 8:tp8 8:pp8 8:dp8 8:tp4pp2 8:tp4dp2 8:tp2pp4 8:pp4dp2 8:tp2dp4 8:pp2dp4 8:tp2pp2dp2 4:pp4gpipe"

# train MODEL RANKS LAYOUT THREADS NAME: builds the image, runs the job, leaves $work/NAME
train() {
    local model=$1 ranks=$2 layout=$3 threads=$4 name=$5 dp=1
    case $layout in *dp*) dp=${layout##*dp};; esac
    local micro=$((8 / dp))
    local image=build/host-x$ranks/$layout+seq64+rows1+micro$micro/$model/full/nocturne
    make --no-print-directory -s BOARD=host-x$ranks LAYOUT=$layout MODEL=$model SEQ=64 ROWS=1 MICRO=$micro > $work/$name.log 2>&1 || return 1
    cat > $work/$name.cfg <<CFG
model = "$PWD/test/golden/$model"; data = "train.pack"; held_out = "held.pack"; output = "$name";
steps = 20; learning_rate = 3e-3; warmup_steps = 4; evaluate_every = 10; log_every = 1; threads = $threads; output_type = "float32";
CFG
    $image $work/$name.cfg >> $work/$name.log 2>&1
}
export -f train; export work

for model in tiny-llama tiny-qwen2 tiny-qwen3 tiny-mistral; do
    [ -n "$model_only" ] && [ "$model_only" != "$model" ] && continue
    for cut in $cuts; do echo "$model ${cut%%:*} ${cut##*:} 1 $model-${cut##*:}"; done |
        xargs -P 2 -L 1 bash -c 'train "$@" || echo "FAIL  layouts.$1_$3: $(tail -n 1 $work/$5.log)"' train
    for cut in $cuts; do
        layout=${cut##*:} name=$model-${cut##*:} id=layouts.${model}_${cut##*:}
        [ -e $work/$name/summary.json ] || continue
        loss=$($compare losses $work/$name/metrics.jsonl $work/$model-single/metrics.jsonl) || { echo "FAIL  $id: no losses to compare"; continue; }
        tensor=$($compare tensors $work/$name $work/$model-single) || { echo "FAIL  $id: no tensors to compare"; continue; }
        if awk -v l="${loss%% *}" -v t="${tensor%% *}" 'BEGIN { exit !(l <= 1e-5 && t <= 1e-4) }'; then
            echo "ok    $id: losses within ${loss%% *}, parameters within ${tensor%% *}"
        else
            echo "FAIL  $id: losses differ by ${loss%% *} (at most 1e-5), parameters by $tensor (at most 1e-4)"
        fi
    done
    # A pipeline changes no bit: pp2 pp4 pp8 as the single rank; a cut with pp as the same cut without.
    for pair in pp2:single pp4:single pp8:single pp4gpipe:single tp2pp2:tp2 tp2pp4:tp2 tp4pp2:tp4 pp2dp2:dp2 pp4dp2:dp2 pp2dp4:dp4 tp2pp2dp2:tp2dp2; do
        a=$work/$model-${pair%%:*} b=$work/$model-${pair##*:}
        if cmp -s $a/model.safetensors $b/model.safetensors; then
            echo "ok    layouts.${model}_${pair%%:*}_has_the_bits_of_${pair##*:}"
        else
            echo "FAIL  layouts.${model}_${pair%%:*}_has_the_bits_of_${pair##*:}: $a and $b differ"
        fi
    done
done

# Repeated runs, and any number of threads a rank, change no bit.
same() {    # same MODEL RANKS LAYOUT THREADS WHAT
    local name=$1-$3-again-$4 id=layouts.$1_$3_$5
    [ -n "$model_only" ] && [ "$model_only" != "$1" ] && return
    train "$1" "$2" "$3" "$4" "$name" || { echo "FAIL  $id: $(tail -n 1 $work/$name.log)"; return; }
    if cmp -s $work/$name/model.safetensors $work/$1-$3/model.safetensors; then echo "ok    $id"; else echo "FAIL  $id: another result"; fi
}
same tiny-llama 8 tp2pp2dp2 1 runs_twice_to_the_same_bits
same tiny-qwen3 8 tp4pp2 1 runs_twice_to_the_same_bits
same tiny-llama 1 single 2 has_the_same_bits_on_2_threads
same tiny-llama 1 single 3 has_the_same_bits_on_3_threads
same tiny-qwen2 1 single 8 has_the_same_bits_on_8_threads
same tiny-mistral 4 tp2pp2 2 has_the_same_bits_on_2_threads
exit 0
