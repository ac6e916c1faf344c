#!/bin/bash
# golden_test.sh: the single rank has PyTorch's numbers, for each tiny model: losses, norms and learning rates of ten AdamW steps with warm-up,
# clipping and decay; every gradient of the first step; the parameters after the last. The fixtures were computed in fp64 (README.md).
#
# Bounds are those the project promises: losses 1e-5 relative, gradients and parameters 1e-4 relative norm. fp32 itself costs about 1e-6.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; only=${only#golden.}; only=${only%%.*}
work=build/test/golden/runs compare=build/test/layouts/compare
rm -rf $work; mkdir -p $work
make --no-print-directory -s $compare build/test/golden/golden_pack || { echo "FAIL  golden.build: the helpers of this test do not build"; exit 1; }

within() { awk -v seen="$1" -v most="$2" 'BEGIN { exit !(seen == seen + 0 && seen <= most) }'; }
# verdict ID WHAT SEEN MOST
verdict() { if within "$3" "$4"; then echo "ok    $1: $2 $3"; else echo "FAIL  $1: $2 $3, at most $4"; fi; }

# largest relative difference of FIELD in metrics.jsonl against the list KEY in expected.json
series() {
    sed -n 's/^{"event":"step".*"'$2'":\([^,}]*\).*/\1/p' "$1" > $work/seen
    tr -d ' \n' < "$4" | sed 's/.*"'$3'":\[\([^]]*\)\].*/\1/' | tr ',' '\n' > $work/right
    paste $work/seen $work/right | awk 'NF == 2 { d = ($1 - $2) / $2; d = d < 0 ? -d : d; worst = d > worst ? d : worst; n++ } END { print n == 10 ? worst + 0 : "nan" }'
}

for model in tiny-llama tiny-qwen2 tiny-qwen3 tiny-mistral; do
    [ -n "$only" ] && [ "${only#$model}" = "$only" ] && [ "$only" != golden ] && continue
    fixture=test/golden/$model image=build/host-x1/single+seq64+rows1+micro4/$model/full/nocturne
    if ! make --no-print-directory -s BOARD=host-x1 LAYOUT=single MODEL=$model SEQ=64 ROWS=1 MICRO=4 > $work/log 2>&1; then
        echo "FAIL  golden.$model: the image does not build: $(tail -n 1 $work/log)"; continue
    fi
    build/test/golden/golden_pack $fixture/rows.json $work/$model.pack 42 || { echo "FAIL  golden.$model: no packed file"; continue; }
    common="model = \"$PWD/$fixture\"; data = \"$model.pack\"; seed = 42; output_type = \"float32\"; log_every = 1; threads = 1;"
    cat > $work/$model.cfg <<CFG
$common output = "$model"; steps = 10; learning_rate = 3e-3; schedule = "cosine"; floor = 0.1; warmup_steps = 4;
beta1 = 0.9; beta2 = 0.95; epsilon = 1e-8; weight_decay = 0.1; clip = 1.0;
CFG
    cat > $work/$model-gradient.cfg <<CFG
$common output = "$model-gradient"; steps = 1; learning_rate = 10; schedule = "constant"; warmup_steps = 0;
beta1 = 0; beta2 = 0; epsilon = 1; weight_decay = 0; clip = 0;
CFG
    if ! $image $work/$model.cfg > $work/log 2>&1 || ! $image $work/$model-gradient.cfg >> $work/log 2>&1; then
        echo "FAIL  golden.$model: the run ended early: $(tail -n 1 $work/log)"; continue
    fi
    metrics=$work/$model/metrics.jsonl expected=$fixture/expected.json
    verdict golden.$model.losses_of_ten_steps_are_pytorchs "largest relative difference" "$(series $metrics loss losses $expected)" 1e-5
    verdict golden.$model.norms_of_ten_steps_are_pytorchs "largest relative difference" "$(series $metrics norm norms $expected)" 1e-4
    verdict golden.$model.learning_rates_are_pytorchs "largest relative difference" "$(series $metrics learning_rate learning_rates $expected)" 1e-12
    seen=$($compare gradients $fixture $work/$model-gradient 10 $fixture/gradients.safetensors)
    verdict golden.$model.every_gradient_is_pytorchs "largest relative norm of a difference (${seen#* })" "${seen%% *}" 1e-4
    seen=$($compare tensors $work/$model $fixture/final.safetensors)
    verdict golden.$model.parameters_after_ten_steps_are_pytorchs "largest relative norm of a difference (${seen#* })" "${seen%% *}" 1e-4
done
exit 0
