#!/bin/bash
# recipe.sh: how demo/model was made: `make tiny`. The corpus is written by tools/mkdemo, the tokenizer learned from it, the model trained from
# random weights by this project's own image. About six minutes on two cores. Writes build/tiny/out; demo/model is changed by hand only.
#
# usage: recipe.sh BUILD IMAGE
set -eu
build=$1 image=$2 tiny=$1/tiny
mkdir -p "$tiny/model"
"$build/tools/mkdemo" corpus 20000 > "$tiny/corpus.jsonl"
cp demo/model/*.json "$tiny/model/"
if python3 -c 'import tokenizers' 2> /dev/null; then
    python3 tools/tiny/make_tokenizer.py "$tiny/corpus.jsonl" "$tiny/model"
else
    echo "tiny: no Python package tokenizers here: demo/model's tokenizer is taken as it is"
fi
"$build/tools/pack" --tokenizer "$tiny/model" --sequence 128 --held-out 0.02 --out "$tiny/data.pack" "$tiny/corpus.jsonl"
cat > "$tiny/job.cfg" <<CFG
model = "model"; data = "data.pack"; held_out = "held.pack"; output = "out"; start = "random";
epochs = 1.0; learning_rate = 2e-3; warmup_ratio = 0.05; weight_decay = 0.01; evaluate_every = 100; log_every = 20; output_type = "bfloat16";
CFG
"$image" "$tiny/job.cfg"
echo "tiny: to take it: cp $tiny/out/model.safetensors $tiny/out/*.json demo/model/"
