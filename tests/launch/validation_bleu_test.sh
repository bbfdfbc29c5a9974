#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs that select checkpoints by BLEU while they learn, under mpirun on several layouts: each figure equals the one that
# weft evaluate finds for the checkpoint of that step, and the best checkpoint is that of the highest BLEU.
# usage: validation_bleu_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"
export OMPI_MCA_mpi_yield_when_idle=1 # there may be more ranks than processors

# Letters in order, and two that the source decides: a model of some steps writes most of them correctly.
letters=(p q r s)
for i in {0..51}; do
  printf 'x%dy%d\tabcdab%s%s\n' $((i % 10)) $((i / 10)) "${letters[i % 4]}" "${letters[i % 3]}"
done >all.tsv
awk 'NR % 7 == 4' all.tsv >valid.tsv
awk 'NR % 7 != 4' all.tsv >train.tsv
cat >job.yaml <<'YAML'
name: by-bleu
task: translation
data: {directory: data, format: tsv, train: {files: [train.tsv]}, valid: {files: [valid.tsv]}}
tokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, ffn: 32, max_length: 16}
batch: {sequences: 12}
schedule: {kind: constant, learning_rate: 0.01}
train: {max_steps: 18}
checkpoint: {every_steps: 3, keep_last: 10}
evaluation:
  every_steps: 3
  metric: bleu
  translation: {settings: [tokenizer=char, lowercase=true], beam: 2, max_pairs: 6}
YAML
expect 0 -- "$weft" validate job.yaml
"$weft" prepare job.yaml 2>/dev/null

# value KEY LINE: the value of a number in a JSON object.
value() { sed -E 's/.*"'"$1"'":([-0-9.e+]+).*/\1/' <<<"$2"; }

for case in '1 tp=1' '2 zero_stage=2' '2 tp=2' '4 tp=2,sequence_parallel=true'; do
  ranks=${case%% *} settings=${case#* } run=${case// /-} tp=1 sets=()
  for setting in ${settings//,/ }; do sets+=(--set "parallel.$setting"); done
  [[ $settings != tp=2* ]] || tp=2
  shown=("$run.log" evaluate.log)
  on_ranks "$ranks" "$weft" train job.yaml "${sets[@]}" --set run_dir="$run" >"$run.log" 2>&1 ||
    fail "$run"
  mapfile -t evaluations < <(grep '"event":"eval"' "$run/metrics.jsonl")
  ((${#evaluations[@]} == 6)) || fail "$run: not six evaluations: ${evaluations[*]}"
  highest=0
  for line in "${evaluations[@]}"; do
    step=$(value step "$line") bleu=$(value bleu "$line")
    same "$run: pairs of $line" 6 "$(value pairs "$line")"
    printf -v checkpoint '%s/checkpoints/step-%08d' "$run" "$step"
    found=$(on_ranks "$ranks" "$weft" evaluate --checkpoint "$checkpoint" --split valid --tp "$tp" --beam 2 \
      --max-sequences 6 --bleu tokenizer=char lowercase=true --json 2>evaluate.log) || fail "evaluating $checkpoint"
    score=$(sed -E 's/.*"name":"BLEU"[^}]*"score":([-0-9.e+]+).*/\1/' <<<"$found")
    same "$run, step $step: BLEU by weft evaluate, which says $found" "$bleu" "$score"
    highest=$(printf '%s\n%s\n' "$highest" "$bleu" | sort -g | tail -1)
  done
  same "$run: the best of $line" "$highest" "$(value best_bleu "$line")"
  awk -v bleu="$highest" 'BEGIN { exit !(bleu > 20) }' || fail "$run has learnt nothing: BLEU $highest"
  printf -v best 'checkpoints/step-%08d' "$(value best_step "$line")"
  "$weft" evaluate --checkpoint "$run" --best --split valid >/dev/null 2>evaluate.log
  matches evaluate.log "$run/$best on valid"
  matches "$run.log" 'BLEU [0-9.]+ over 6 pairs in .* \(best\)'
  contains "$run: what it printed" "$(<"$run.log")" "best validation BLEU $(printf '%.2f' "$highest")"
  echo "$run: BLEU $highest at most, as weft evaluate finds"
done

# A setting that the dataset cannot support is refused at its place in the job.
refused 2 'job.yaml:12:3: evaluation.metric: nothing is evaluated; set evaluation.every_steps' -- "$weft" validate job.yaml --set evaluation.every_steps=0
refused 2 'job.yaml:13:3: evaluation.translation: metric: loss translates nothing' -- "$weft" validate job.yaml --set evaluation.metric=loss
refused 2 'evaluation.translation.beam: expected an integer from 1' -- "$weft" train job.yaml --set evaluation.translation.beam=0
refused 2 'evaluation.translation.settings: tokenizer=moses: tokenizer: expected one of 13a' -- "$weft" validate job.yaml \
  --set evaluation.translation.settings='[tokenizer=moses]'
