#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs that are judged by BLEU while they learn, under mpirun on several layouts: each figure is the one that
# weft evaluate finds for the checkpoint of that step, and the best checkpoint is that of the highest.
# usage: validation_bleu_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"
export OMPI_MCA_mpi_yield_when_idle=1 # there may be more ranks than processors
fail() { echo "$*"; exit 1; }

# Letters in order, and two that the source decides: a model of some steps writes most of them right.
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
"$weft" validate job.yaml 2>validate.log || { cat validate.log; exit 1; }
"$weft" prepare job.yaml 2>/dev/null

# value KEY LINE: of a member of a JSON object that is a number.
value() { sed -E 's/.*"'"$1"'":([-0-9.e+]+).*/\1/' <<<"$2"; }

for case in '1 tp=1' '2 zero_stage=2' '2 tp=2' '4 tp=2,sequence_parallel=true'; do
  ranks=${case%% *} settings=${case#* } run=${case// /-} tp=1 sets=()
  for setting in ${settings//,/ }; do sets+=(--set "parallel.$setting"); done
  [[ $settings != tp=2* ]] || tp=2
  on_ranks "$ranks" "$weft" train job.yaml "${sets[@]}" --set run_dir="$run" >"$run.log" 2>&1 ||
    { cat "$run.log"; exit 1; }
  mapfile -t evaluations < <(grep '"event":"eval"' "$run/metrics.jsonl")
  ((${#evaluations[@]} == 6)) || fail "$run: not six evaluations: ${evaluations[*]}"
  highest=0
  for line in "${evaluations[@]}"; do
    step=$(value step "$line") bleu=$(value bleu "$line")
    [[ $(value pairs "$line") == 6 ]] || fail "$run: not six pairs: $line"
    printf -v checkpoint '%s/checkpoints/step-%08d' "$run" "$step"
    found=$(on_ranks "$ranks" "$weft" evaluate --checkpoint "$checkpoint" --split valid --tp "$tp" --beam 2 \
      --max-sequences 6 --bleu tokenizer=char lowercase=true --json 2>evaluate.log) || { cat evaluate.log; exit 1; }
    score=$(sed -E 's/.*"name":"BLEU"[^}]*"score":([-0-9.e+]+).*/\1/' <<<"$found")
    [[ $score == "$bleu" ]] || fail "$run, step $step: BLEU was $bleu, and weft evaluate finds $score: $found"
    highest=$(printf '%s\n%s\n' "$highest" "$bleu" | sort -g | tail -1)
  done
  [[ $(value best_bleu "$line") == "$highest" ]] || fail "$run: $highest is the highest, and not told as the best: $line"
  awk -v bleu="$highest" 'BEGIN { exit !(bleu > 20) }' || fail "$run has learnt nothing: BLEU $highest"
  printf -v best 'checkpoints/step-%08d' "$(value best_step "$line")"
  "$weft" evaluate --checkpoint "$run" --best --split valid >/dev/null 2>evaluate.log
  grep -q "$run/$best on valid" evaluate.log || { cat evaluate.log; fail "$run: the best is not $best"; }
  grep -qE 'BLEU [0-9.]+ over 6 pairs in .* \(best\)' "$run.log" || { cat "$run.log"; fail "$run: no line tells the best"; }
  grep -qF "best validation BLEU $(printf '%.2f' "$highest")" "$run.log" || { cat "$run.log"; fail "$run: the end does not tell"; }
  echo "$run: BLEU $highest at most, as weft evaluate finds"
done

# What the job asks for and the dataset cannot give is refused where the job asks for it.
refused() { # STATUS PATTERN ARGUMENTS...
  local status=0
  "$weft" "${@:3}" >said 2>&1 || status=$?
  if ((status != $1)) || ! says_in said "$2"; then
    cat said
    fail "weft ${*:3}: status $status, or no '$2'"
  fi
}
refused 2 'job.yaml:12:3: evaluation.metric: nothing is evaluated; set evaluation.every_steps' validate job.yaml --set evaluation.every_steps=0
refused 2 'job.yaml:13:3: evaluation.translation: metric: loss translates nothing' validate job.yaml --set evaluation.metric=loss
refused 2 'evaluation.translation.beam: expected an integer from 1' train job.yaml --set evaluation.translation.beam=0
refused 2 'evaluation.translation.settings: tokenizer=moses: tokenizer: expected one of 13a' validate job.yaml \
  --set evaluation.translation.settings='[tokenizer=moses]'
