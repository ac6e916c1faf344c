#!/bin/bash
# demo.sh: what `make demo` shows: a packed data set, a fine-tuning job on eight ranks, and what the model answers before and after.
#
# usage: demo.sh BUILD MODEL IMAGE MODEL_FOLDER STEPS
set -eu
build=$1 model=$2 image=$3 folder=$4
demo=$build/demo
started=$(date +%s)
rm -rf "$demo"; mkdir -p "$demo"
threads=$(nproc)

say() { printf '\n== %s\n' "$*"; }

say "Data: 800 questions about a small town, 160 more are held out"
"$build/tools/mkdemo" train > "$demo/train.jsonl"
"$build/tools/mkdemo" held > "$demo/held.jsonl"
"$build/tools/pack" --tokenizer "$folder" --sequence 128 --out "$demo/data.pack" --held-out-file "$demo/held.jsonl" --held "$demo/held.pack" "$demo/train.jsonl"

say "Before: the checkpoint has never heard of the town"
limit=160; [ "$model" = demo ] || limit=8
"$build/tools/decode" --model "$folder" --show 3 --most 24 --limit $limit --threads "$threads" --json "$demo/before.json" "$demo/held.jsonl"

say "The night: eight ranks, cut by $(basename "$(dirname "$(dirname "$(dirname "$image")")")")"
cat > "$demo/job.cfg" <<CFG
model = "$folder";
data = "data.pack";    held_out = "held.pack";    output = "model";
$(if [ "$model" = demo ]; then echo 'epochs = 16.0; learning_rate = 2e-3; weight_decay = 0.0; log_every = 20;'; else echo 'steps = 12; learning_rate = 1e-4; log_every = 1;'; fi)
CFG
"$image" "$demo/job.cfg"

say "After: the fine-tuned model, from $demo/model"
"$build/tools/decode" --model "$demo/model" --show 6 --most 24 --limit $limit --threads "$threads" --json "$demo/after.json" "$demo/held.jsonl"

number() { sed -n 's/^ *"'"$2"'": *\([^,]*\),*$/\1/p' "$1" | head -n 1; }
run=$demo/model/summary.json
cat > "$demo/summary.json" <<JSON
{
 "model": "$model",
 "image": $(number "$run" image),
 "loss_before": $(number "$run" loss_before),
 "loss_after": $(number "$run" loss_after),
 "token_accuracy_before": $(number "$run" token_accuracy_before),
 "token_accuracy_after": $(number "$run" token_accuracy_after),
 "exact_match_before": $(number "$demo/before.json" exact_match),
 "exact_match_after": $(number "$demo/after.json" exact_match),
 "questions": $(number "$demo/after.json" rows),
 "tokens_per_second": $(number "$run" tokens_per_second),
 "steps": $(number "$run" steps),
 "boot_seconds": $(number "$run" boot_seconds),
 "allocations_after_seal": $(number "$run" allocations_after_seal),
 "seconds": $(($(date +%s) - started))
}
JSON
say "$demo/summary.json"
cat "$demo/summary.json"
