#!/bin/bash
# mkmodel_test.sh: each model header is what mkmodel writes from the model's config.json, and mkmodel writes nothing where it refuses.
set -u
cd "$(dirname "$0")/../.."
only=${1:-}; only=${only#mkmodel}; only=${only#.}
mkmodel=build/tools/mkmodel
make --no-print-directory -s $mkmodel || { echo "FAIL  mkmodel.build: mkmodel does not build"; exit 1; }
bad=0
wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }
verdict() { if [ "$1" -eq 0 ]; then echo "ok    mkmodel.$2"; else echo "FAIL  mkmodel.$2: $3"; bad=1; fi; }

# header NAME CONFIG
header() {
    local id=${1//[.-]/_}_header_is_current
    wanted $id || return
    [ -e "$2" ] || { echo "skip  mkmodel.$id: $2 is absent"; return; }
    $mkmodel "$2" --name "$1" 2> /dev/null | cmp -s - "layouts/models/$1.h"
    verdict $? $id "layouts/models/$1.h is not what mkmodel writes from $2"
}
for model in tiny-llama tiny-qwen2 tiny-qwen3 tiny-mistral; do header $model test/golden/$model; done
shared=../shared/data
header stories260k $shared/models/stories260K
header smollm2-135m $shared/configs/SmolLM2-135M-Instruct.json
header qwen2.5-0.5b $shared/configs/Qwen2.5-0.5B-Instruct.json
header qwen2.5-7b $shared/configs/Qwen2.5-7B-Instruct.json
header qwen3-8b $shared/configs/Qwen3-8B.json
header llama3.2-1b $shared/configs/Llama-3.2-1B-Instruct.json
header llama3.1-8b $shared/configs/Llama-3.1-8B-Instruct.json
header mistral-7b $shared/configs/Mistral-7B-v0.1.json

if wanted all_headers_define_the_same; then
    names() { sed -n 's/^#define \([A-Z_0-9]*\) .*/\1/p' "$1"; }
    right=$(names layouts/models/tiny-llama.h) odd=""
    for file in layouts/models/*.h; do [ "$(names "$file")" = "$right" ] || odd="$odd $file"; done
    [ -z "$odd" ]; verdict $? all_headers_define_the_same "other names than in tiny-llama.h:$odd"
fi

folder=$(mktemp -d)
if wanted a_refusal_writes_no_header; then
    sed 's/"silu"/"gelu"/' test/golden/tiny-llama/config.json > $folder/config.json
    out=$($mkmodel $folder --name x 2> $folder/error)
    [ $? -eq 65 ] && [ -z "$out" ] && grep -q '"hidden_act" is "gelu"' $folder/error
    verdict $? a_refusal_writes_no_header "$(head -c 200 $folder/error)"
fi
if wanted a_name_that_is_no_plain_word_is_bad_usage; then
    out=$($mkmodel test/golden/tiny-llama --name 'a"/b' 2> /dev/null)
    [ $? -eq 64 ] && [ -z "$out" ]
    verdict $? a_name_that_is_no_plain_word_is_bad_usage "status $?"
fi
if wanted a_header_is_written_whole; then
    $mkmodel test/golden/tiny-llama --name tiny-llama --out $folder/new.h 2> $folder/error && cmp -s $folder/new.h layouts/models/tiny-llama.h &&
        [ "$(ls $folder | grep -c tmp)" -eq 0 ]
    verdict $? a_header_is_written_whole "$(head -c 200 $folder/error)"
fi
if wanted a_refusal_leaves_the_header_as_it_was; then
    sed 's/"silu"/"gelu"/' test/golden/tiny-llama/config.json > $folder/config.json
    echo 'last year' > $folder/old.h
    $mkmodel $folder --name x --out $folder/old.h 2> $folder/error
    [ $? -eq 65 ] && [ "$(cat $folder/old.h)" = 'last year' ] && [ "$(ls $folder | grep -c tmp)" -eq 0 ]
    verdict $? a_refusal_leaves_the_header_as_it_was "$(head -c 200 $folder/error)"
fi
if wanted a_folder_that_is_not_there_is_named; then
    $mkmodel test/golden/tiny-llama --name x --out $folder/nowhere/x.h 2> $folder/error
    [ $? -eq 66 ] && grep -q 'nowhere/x.h.tmp: cannot be written: No such file' $folder/error
    verdict $? a_folder_that_is_not_there_is_named "$(head -c 200 $folder/error)"
fi
if wanted a_full_disk_is_no_success; then
    if [ -e /dev/full ]; then
        $mkmodel test/golden/tiny-llama --name x > /dev/full 2> $folder/error
        [ $? -eq 66 ] && grep -q 'No space left' $folder/error
        verdict $? a_full_disk_is_no_success "$(head -c 200 $folder/error)"
    else
        echo "skip  mkmodel.a_full_disk_is_no_success: no /dev/full here"
    fi
fi
rm -r $folder
exit $bad
