#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGKILL under mpirun to one random rank of two, at random instants of a run that saves after every step. The next
# start always finds a complete checkpoint, no older than the last one committed.
# usage: kill_save_test.sh WEFT SCRATCH; WEFT_KILLS: the number of instants (8)
set -euo pipefail
weft=$1 scratch=$2 kills=${WEFT_KILLS:-8}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"
RANDOM=7

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
cat >job.yaml <<'YAML'
name: kill
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 2, width: 64, heads: 4, max_length: 16}
batch: {sequences: 4}
schedule: {kind: constant}
train: {max_steps: 1000000}
checkpoint: {every_steps: 1, keep_last: 1}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null
run=$scratch/run
train() { on_ranks 2 "$weft" train job.yaml --set run_dir="$run" >"log.$1" 2>&1; }
# The step of the last save that rank 0 has recorded.
committed() { grep -a '"event":"save"' "$run/metrics.jsonl" 2>/dev/null | tail -n 1 | sed -nE 's/.*step-0*([0-9]+)".*/\1/p' | grep . || echo 0; }
ranks() { pgrep -f "^$weft train job.yaml --set run_dir=$run\$"; }

found=0 unfinished=0
for ((i = 1; i <= kills; i++)); do
  before=$(committed)
  train "$i" &
  pid=$!
  while kill -0 $pid 2>/dev/null && (($(committed) <= before)); do sleep 0.02; done
  shown=("log.$i")
  kill -0 $pid 2>/dev/null || fail "attempt $i ended by itself"
  sleep "0.$(printf '%03d' $((RANDOM % 120)))"
  kill -KILL "$(ranks | shuf -n 1 --random-source=<(yes $RANDOM))"
  wait $pid && fail "attempt $i: mpirun ended with 0"
  ((i == 1)) || matches "log.$i" "resumed from .* at step ($found|$((found + 1))) of"
  compgen -G "$run/checkpoints/*.tmp" >/dev/null && unfinished=$((unfinished + 1))
  last=$(committed)
  found=$("$weft" inspect "$run" --verify | sed -nE 's/^checkpoint .*: step ([0-9]+)$/\1/p')
  [[ -n $found && $found -ge $last ]] || fail "kill $i: step $last was committed, but ${found:-none} is found in: $(ls "$run/checkpoints")"
done
echo "$kills kills, $unfinished of them in the middle of a save; a complete checkpoint was always there, at last of step $found"
