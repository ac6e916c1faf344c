#!/bin/bash
# refusals_test.sh: every bad input ends before SEAL with one clear line and its exit code, from `nocturne check` and from the run alike, and
# leaves nothing behind. One small image, one good job; each case changes one thing.
set -u
cd "$(dirname "$0")/../.."
one=${1:-}; one=${one#refusals.}
model=tiny-llama golden=test/golden/$model
work=$PWD/build/test/boot/refusals spoil=build/test/boot/spoil
name=host-x2/tp2+seq64+rows1+micro8/$model/full image=build/$name/nocturne
as=                       # what the image is run as
rm -rf "$work"; mkdir -p "$work"

make --no-print-directory -s $spoil && make --no-print-directory -s BOARD=host-x2 LAYOUT=tp2 MODEL=$model SEQ=64 ROWS=1 MICRO=8 ||
    { echo "FAIL  refusals.build: the image or the maker of bad inputs does not build"; exit 1; }
vocabulary=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' $golden/config.json)
$spoil pack "$work/train.pack" 20 64 "$vocabulary" $((vocabulary - 1)) -
printf '%s\n' "model = \"$PWD/$golden\"; start = \"random\"; data = \"train.pack\"; output = \"good\"; steps = 2; learning_rate = 1e-2; output_type = \"float32\";" \
    > "$work/start.cfg"
$image "$work/start.cfg" > "$work/stdout" 2> "$work/stderr" || { echo "FAIL  refusals.start: $(tail -n 1 "$work/stderr")"; exit 1; }
echo '{"the": "image does not read it"}' > "$work/good/tokenizer.json"
$spoil pack "$work/train.pack" 20 64 "$vocabulary" $((vocabulary - 1)) "$work/good/tokenizer.json"
$spoil pack "$work/held.pack" 3 64 "$vocabulary" 100 "$work/good/tokenizer.json"

# job LINES...: the good job with each line's key set anew
job() {
    local file=$work/job.cfg key line
    printf '%s\n' 'model = "good";' 'data = "train.pack";' 'held_out = "held.pack";' 'output = "out";' 'steps = 2;' 'threads = 1;' > "$file"
    for line in "$@"; do
        key=${line%% *}
        sed -i "/^$key /d" "$file"
        echo "$line" >> "$file"
    done
}
# spoiled NAME CHANGE...: the model's folder with another model.safetensors
spoiled() {
    local folder=$work/$1; shift
    cp -r "$work/good" "$folder"
    $spoil checkpoint "$work/good" "$folder/model.safetensors" "$@"
}

# expect ID CODE PART [checks|runs]: both ways of calling refuse with CODE and one line that holds PART; "runs": only the run can find it
expect() {
    local id=$1 code=$2 part=$3 how=${4:-both} way status lines
    [ -n "$one" ] && [ "$one" != "$id" ] && return
    for way in check run; do
        [ $how = runs ] && [ $way = check ] && continue
        rm -rf "$work/out"
        if [ $way = check ]; then $as $image check "$work/job.cfg"; else $as timeout 60 $image "$work/job.cfg"; fi > "$work/stdout" 2> "$work/stderr"
        status=$?
        lines=$(grep -vc '^nocturne: note: ' "$work/stderr")
        if [ $status -ne "$code" ]; then
            echo "FAIL  refusals.$id: $way ends with $status, right is $code: $(tail -n 1 "$work/stderr")"; return
        elif [ "$lines" -ne 1 ] || ! grep -qF -- "$part" "$work/stderr"; then
            echo "FAIL  refusals.$id: $way says \"$(cat "$work/stderr")\"; right is one line that holds \"$part\""; return
        elif grep -q '^SEAL' "$work/stdout"; then
            echo "FAIL  refusals.$id: $way refused only after SEAL"; return
        elif [ -d "$work/out" ] && [ -n "$(ls -A "$work/out")" ]; then
            echo "FAIL  refusals.$id: $way left $(ls -A "$work/out" | tr '\n' ' ')behind"; return
        fi
    done
    echo "ok    refusals.$id"
}

# ---- the good job runs, and check writes nothing ----
job
rm -rf "$work/out"
if $image check "$work/job.cfg" > "$work/stdout" 2> "$work/stderr" && grep -q 'the job will run' "$work/stdout" && [ ! -e "$work/out" ]; then
    echo "ok    refusals.check_takes_the_good_job_and_writes_nothing"
else
    echo "FAIL  refusals.check_takes_the_good_job_and_writes_nothing: $(cat "$work/stderr")"
fi
if $image "$work/job.cfg" > "$work/stdout" 2> "$work/stderr" && grep -q '^SEAL' "$work/stdout" && [ -e "$work/out/summary.json" ] &&
    [ -z "$(ls "$work/out" | grep tmp)" ]; then
    echo "ok    refusals.the_good_job_runs"
else
    echo "FAIL  refusals.the_good_job_runs: $(cat "$work/stderr")"
fi

# ---- job ----
job 'learning_rte = 1e-4;';            expect unknown_key 64 'did you mean learning_rate?'
job 'warmup_steps = 3;';               expect warmup_beyond_steps 64 'more than the 2 steps'
job 'steps = 1000000000000;';          expect disk_too_small 66 'the disk is too small'
job 'data = "nowhere.pack";';          expect data_missing 66 'nowhere.pack'
job 'model = "nowhere";';              expect model_missing 66 'nowhere'
touch "$work/file"
job 'output = "file/out";';            expect output_below_a_file 66 'Not a directory; right is a folder that this user may write'
job 'output = "file";';                expect output_is_a_file 66 'file is no folder; right is a folder that this user may write'
job 'output = "good";';                expect output_is_the_model 64 "the model's own folder"
mkdir "$work/readonly"; chmod 500 "$work/readonly"
job 'output = "readonly/out";'
if [ ! -w "$work/readonly" ]; then
    expect output_unwritable 66 'Permission denied; right is a folder that this user may write'
elif setpriv --reuid=65534 --regid=65534 --clear-groups cat "$work/job.cfg" > "$work/stdout" 2>&1; then
    as='setpriv --reuid=65534 --regid=65534 --clear-groups'; expect output_unwritable 66 'Permission denied; right is a folder that this user may write'; as=
else
    echo "skip  refusals.output_unwritable: root may write everywhere, and nobody cannot read here"
fi
mkdir "$work/mixed"; touch "$work/mixed/model-00001-of-00002.safetensors"
job 'output = "mixed";';               expect output_holds_another_checkpoint 64 'model-00001-of-00002.safetensors'
job; (ulimit -f 64; expect disk_reservation_fails 66 'cannot be reserved' runs)

# ---- model ----
config() { cp -r "$work/good" "$work/$1"; sed -i "$2" "$work/$1/config.json"; job "model = \"$1\";"; }
config other_layers 's/"num_hidden_layers": *[0-9]*/"num_hidden_layers": 3/';  expect model_of_other_depth 65 'num_hidden_layers'
config other_theta 's/"rope_theta": *[0-9.]*/"rope_theta": 123.0/';            expect model_of_other_rotation 65 'rope_theta'
mkdir "$work/empty";                                job 'model = "empty";';    expect model_folder_empty 66 'config.json'

# ---- checkpoint ----
down=model.layers.1.mlp.down_proj.weight norm=model.layers.0.input_layernorm.weight embedding=model.embed_tokens.weight
spoiled drop drop $down;               job 'model = "drop";';      expect tensor_missing 65 "$down is missing"
spoiled add add model.extra.weight;    job 'model = "add";';       expect tensor_unused 65 'model.extra.weight'
spoiled transpose transpose $down;     job 'model = "transpose";'; expect tensor_transposed 65 'transposed?'
spoiled longer longer $norm;           job 'model = "longer";';    expect tensor_shape 65 "$norm has shape"
spoiled nan nan $down 1001;            job 'model = "nan";';       expect weight_nan 65 "$down holds"
spoiled inf inf $norm 7;               job 'model = "inf";';       expect weight_infinite 65 "$norm holds -inf at [7]"
spoiled huge huge $embedding 5;        job 'model = "huge";' 'output_type = "bfloat16";'; expect weight_too_large_for_the_output 65 'more than output_type bfloat16 can hold'
cp -r "$work/good" "$work/cut"; truncate -s -1 "$work/cut/model.safetensors"
job 'model = "cut";';                  expect checkpoint_truncated 65 'model.safetensors'
cp -r "$work/good" "$work/text"; echo 'version https://git-lfs.github.com/spec/v1' > "$work/text/model.safetensors"
job 'model = "text";';                 expect checkpoint_is_a_pointer 65 'model.safetensors'

# ---- data ----
pack() { $spoil pack "$work/bad.pack" "$@"; job 'data = "bad.pack";'; }
pack 5 64 70000 $((vocabulary)) "$work/good/tokenizer.json";       expect token_beyond_vocabulary 65 "rows.jsonl:5) is beyond the model's vocabulary"
pack 5 32 "$vocabulary" 100 "$work/good/tokenizer.json";           expect row_length 65 'rows of 32 tokens'
pack 5 64 "$vocabulary" 100 "$work/good/tokenizer.json" no-target; expect data_without_target 65 'target'
pack 5 64 "$vocabulary" 100 "$work/good/config.json";              expect data_of_another_tokenizer 65 'another tokenizer'
job 'held_out = "bad.pack";';                                      expect held_out_of_another_tokenizer 65 'bad.pack: packed with another tokenizer'
ln "$work/train.pack" "$work/link.pack"
job 'held_out = "link.pack";';                                     expect held_out_is_the_data 64 'is the same file as data'
$spoil pack "$work/one.pack" 5 64 "$vocabulary" 100 "$work/good/tokenizer.json" 1
$spoil pack "$work/two.pack" 3 64 "$vocabulary" 100 "$work/good/tokenizer.json" 2
job 'data = "one.pack";' 'held_out = "two.pack";';                 expect held_out_of_another_template 65 'two.pack: packed with another chat template'
cp -r "$work/good" "$work/wordless"; rm "$work/wordless/tokenizer.json"
$spoil pack "$work/two.pack" 3 64 "$vocabulary" 100 "$work/good/config.json"
job 'model = "wordless";' 'held_out = "two.pack";';                expect held_out_of_another_tokenizer_than_the_data 65 'two.pack: packed with another tokenizer'
cp "$work/train.pack" "$work/bad.pack"; truncate -s -4 "$work/bad.pack"
job 'data = "bad.pack";';                                          expect data_truncated 65 'bad.pack'

# ---- what the job may accept ----
accept() {    # accept ID PART: the job runs, and says PART
    [ -n "$one" ] && [ "$one" != "$1" ] && return
    rm -rf "$work/out"
    if $image "$work/job.cfg" > "$work/stdout" 2> "$work/stderr" && cat "$work/stdout" "$work/stderr" | grep -qF -- "$2"; then
        echo "ok    refusals.$1"
    else
        echo "FAIL  refusals.$1: \"$2\" is not said, or: $(tail -n 1 "$work/stderr")"
    fi
}
job 'model = "add";' 'unused_tensors = "accept";';                 accept unused_tensors_can_be_accepted 'unused 1'
spoiled frequencies add model.layers.0.self_attn.rotary_emb.inv_freq
job 'model = "frequencies";';                                      accept old_rotary_constants_are_no_error 'unused 1'
job 'model = "nan";' 'bad_weights = "accept";'
if [ -z "$one" ] || [ "$one" = a_loss_that_is_no_number_ends_the_run_and_leaves_no_draft ]; then
    rm -rf "$work/out"; timeout 60 $image "$work/job.cfg" > "$work/stdout" 2> "$work/stderr"
    if [ $? -eq 65 ] && grep -q 'not finite' "$work/stderr" && [ -z "$(ls "$work/out" | grep 'tmp$')" ] && [ ! -e "$work/out/model.safetensors" ]; then
        echo "ok    refusals.a_loss_that_is_no_number_ends_the_run_and_leaves_no_draft"
    else
        echo "FAIL  refusals.a_loss_that_is_no_number_ends_the_run_and_leaves_no_draft: $(tail -n 1 "$work/stderr") $(ls "$work/out")"
    fi
fi
exit 0
