#!/bin/bash
# stories_test.sh: a real model: stories260K of the shared test data has its published loss, fine-tunes, and its copy goes on from where it was.
set -u
cd "$(dirname "$0")/../.."
shared=../shared/data
if [ ! -e $shared/models/stories260K/model.safetensors ]; then
    echo "skip  stories.the_published_loss: $shared/models/stories260K is absent"; exit 0
fi
work=build/test/models/stories image=build/host-x2/pp2+seq512+rows1+micro4/stories260k/full/nocturne
rm -rf $work; mkdir -p $work
make --no-print-directory -s BOARD=host-x2 LAYOUT=pp2 MODEL=stories260k SEQ=512 ROWS=1 MICRO=4 image build/tools/pack > $work/log 2>&1 ||
    { echo "FAIL  stories.build: $(tail -n 1 $work/log)"; exit 1; }
pack="build/tools/pack --tokenizer $shared/models/stories260K --sequence 512"
{ $pack --order alone --out $work/sample5.pack $shared/datasets/tinystories/sample5.jsonl &&
  awk 'length < 600' $shared/datasets/tinystories/stories.jsonl > $work/short.jsonl &&
  $pack --order alone --out $work/alone.pack $work/short.jsonl && $pack --order fill --out $work/together.pack $work/short.jsonl &&
  $pack --out $work/train.pack $shared/datasets/tinystories/stories.jsonl; } > $work/log 2>&1 || { echo "FAIL  stories.pack: $(tail -n 1 $work/log)"; exit 1; }
job() {    # job NAME MODEL HELD_OUT
    printf 'model = "%s"; data = "train.pack"; held_out = "%s"; output = "%s"; steps = 4; learning_rate = 1e-5;\n' "$2" "$3" "$1" > $work/$1.cfg
    $image $work/$1.cfg > $work/$1.log 2>&1 || { echo "FAIL  stories.$1: $(tail -n 1 $work/$1.log)"; exit 1; }
}
figure() { sed -n 's/^ *"'"$2"'": *\([^,]*\),*$/\1/p' $work/$1/summary.json; }
# verdict ID SEEN RIGHT MOST
verdict() {
    if awk -v a="$2" -v b="$3" -v m="$4" 'BEGIN { d = a - b; exit !(d <= m && d >= -m) }'; then echo "ok    stories.$1: $2"; else echo "FAIL  stories.$1: $2, right is $3 within $4"; fi
}
job first "$PWD/$shared/models/stories260K" sample5.pack
job second "$PWD/$work/first" sample5.pack
job alone "$PWD/$shared/models/stories260K" alone.pack
job together "$PWD/$shared/models/stories260K" together.pack
# expected.json has 1.26644 from a float64 forward pass; five digits, and fp32 costs about 1e-6.
verdict the_published_loss "$(figure first loss_before)" 1.266441 1e-5
verdict every_target_is_counted "$(figure first held_out_targets)" 1804 0
# The copy is fp32, as the checkpoint: nothing is rounded on the way, so the loss is the same number.
verdict a_saved_copy_goes_on_with_the_loss_it_had "$(figure second loss_before)" "$(figure first loss_after)" 0
# Documents of one row do not see each other: only the place of a score in its block, and so the order of a sum, may change. 1e-6 as above.
verdict stories_packed_together_have_the_loss_of_each_alone "$(figure together loss_before)" "$(figure alone loss_before)" 1e-6
verdict the_same_targets_in_fewer_rows "$(figure together held_out_targets)" "$(figure alone held_out_targets)" 0
rows() { sed -n 's/.*"event":"evaluation","step":0.*"rows":\([0-9]*\).*/\1/p' $work/$1/metrics.jsonl; }
if [ "$(rows together)" -lt "$(rows alone)" ]; then echo "ok    stories.rows_hold_several_stories: $(rows together) rows for $(rows alone) stories"
else echo "FAIL  stories.rows_hold_several_stories: $(rows together) rows for $(rows alone) stories: the test above compares nothing"; fi
verdict fine_tuning_changes_it "$(awk -v a="$(figure first loss_after)" -v b="$(figure first loss_before)" 'BEGIN { print a != b }')" 1 0
exit 0
