#!/bin/bash
# roundtrip_test.sh: what is loaded and not changed is saved to the bit, by every way to cut it: one step at a learning rate that fp32 rounds to 0.
# tiny-llama has a vocabulary that no cut divides, tiny-qwen2 has tied embeddings and biases.
set -u
cd "$(dirname "$0")/../.."
one=${1:-}; one=${one#roundtrip.}
work=$PWD/build/test/save/roundtrip spoil=build/test/boot/spoil compare=build/test/layouts/compare
rm -rf "$work"; mkdir -p "$work"
make --no-print-directory -s $spoil $compare || { echo "FAIL  roundtrip.build: the helpers of this test do not build"; exit 1; }

name_of() { case $1 in copy) echo float32;; bf16) echo bfloat16;; f16) echo float16;; esac; }

types_of() { head -c 20000 "$1/model.safetensors" | grep -ao '"dtype":"[A-Z0-9]*"' | sort -u; }

# trip MODEL RANKS LAYOUT MICRO TYPE: saves $work/$id; image names as in layouts_test.sh, so that they are built once
trip() {
    local model=$1 ranks=$2 layout=$3 micro=$4 type=$5 id=$1_$3_$5 image
    [ -n "$one" ] && [ "$one" != "$id" ] && return
    image=build/host-x$ranks/$layout+seq64+rows1+micro$micro/$model/full/nocturne
    make --no-print-directory -s BOARD=host-x$ranks LAYOUT=$layout MODEL=$model SEQ=64 ROWS=1 MICRO=$micro > "$work/$id.log" 2>&1 ||
        { echo "FAIL  roundtrip.$id: $image does not build"; return; }
    if [ ! -d "$work/$model-start" ]; then     # from random weights, trained a little, so that gains and biases are not all alike
        $spoil pack "$work/$model.pack" 8 64 "$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' test/golden/$model/config.json)" 200 -
        printf '%s\n' "model = \"$PWD/test/golden/$model\"; start = \"random\"; data = \"$model.pack\"; output = \"$model-start\"; steps = 3;" \
            'learning_rate = 1e-2; output_type = "float32";' > "$work/start.cfg"
        $image "$work/start.cfg" >> "$work/$id.log" 2>&1 || { echo "FAIL  roundtrip.$id: start: $(tail -n 1 "$work/$id.log")"; return; }
    fi
    if [ ! -d "$work/$model-$type" ]; then
        mkdir "$work/$model-$type"
        sed "s/\"torch_dtype\": \"[a-z0-9]*\"/\"torch_dtype\": \"$(name_of "$type")\"/" test/golden/$model/config.json > "$work/$model-$type/config.json"
        $spoil checkpoint "$work/$model-start" "$work/$model-$type/model.safetensors" "$type"
    fi
    printf '%s\n' "model = \"$model-$type\"; data = \"$model.pack\"; output = \"$id\"; steps = 1; learning_rate = 1e-50;" > "$work/$id.cfg"
    if ! $image "$work/$id.cfg" >> "$work/$id.log" 2>&1; then
        echo "FAIL  roundtrip.$id: $(tail -n 1 "$work/$id.log")"
    elif [ "$($compare tensors "$work/$id" "$work/$model-$type" | cut -d' ' -f1)" != 0 ]; then
        echo "FAIL  roundtrip.$id: $($compare tensors "$work/$id" "$work/$model-$type" 2>&1) differs"
    elif [ "$(types_of "$work/$id")" != "$(types_of "$work/$model-$type")" ]; then
        echo "FAIL  roundtrip.$id: stored as $(types_of "$work/$id"), loaded as $(types_of "$work/$model-$type")"
    elif ! grep -q "\"\(torch_\)\?dtype\": *\"$(name_of "$type")\"" "$work/$id/config.json"; then
        echo "FAIL  roundtrip.$id: config.json says another type: $(grep dtype "$work/$id/config.json")"
    else
        echo "ok    roundtrip.$id"
    fi
}
trip tiny-llama 1 single 8 copy
trip tiny-llama 1 single 8 bf16
trip tiny-llama 1 single 8 f16
trip tiny-llama 8 tp2pp2dp2 4 copy
trip tiny-llama 8 tp8 8 bf16
trip tiny-qwen2 2 pp2 8 copy
trip tiny-qwen2 8 tp4pp2 8 bf16
exit 0
