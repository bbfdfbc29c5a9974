#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two jobs in one run directory: the second is refused with exit code 6 and harms nothing; a job that may wait gets the
# directory as soon as all ranks of the first are killed.
# usage: lock_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
cat >job.yaml <<'YAML'
name: lock
run_dir: run
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 32, heads: 2, max_length: 16}
batch: {sequences: 4}
schedule: {kind: constant}
train: {max_steps: 1000000}
checkpoint: {every_steps: 1, keep_last: 2}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null
train() { on_ranks 2 "$weft" train job.yaml "$@"; }
shown=("*.log")
# The number of saves so far: 0 while there is no file of metrics.
saves() {
  local count
  count=$(grep -ac '"event":"save"' run/metrics.jsonl 2>/dev/null) || true
  echo "${count:-0}"
}
wait_for_saves() {
  local count=$1
  while kill -0 "$first" 2>/dev/null && (($(saves) < count)); do sleep 0.02; done
  kill -0 "$first" 2>/dev/null || fail "the first job ended by itself"
}

train >first.log 2>&1 &
first=$!
# shellcheck disable=SC2046 # words
end_first() { kill -TERM $(children "$first") 2>/dev/null || true; }
at_end end_first
wait_for_saves 3

SLURM_JOB_ID=77 expect_match 6 'run belongs to another run: attempt 0, process [0-9]+ on .*, since 20' -- \
  train --set checkpoint.lock_wait_seconds=0
before=$(saves)
wait_for_saves $((before + 3))
lacks first.log 'was not saved' # the second job does not harm the saves of the first

SLURM_JOB_ID=78 train --set train.max_steps=3 --set 'allow_changes=[train.max_steps]' >third.log 2>&1 &
third=$!
while kill -0 $third 2>/dev/null && ! grep -q 'waiting for it' third.log; do sleep 0.02; done
kill -0 $third 2>/dev/null || fail "the third job did not wait"
# Kills all ranks of the first job at once, and mpirun.
read -r mpirun _ < <(children "$first"; echo)
read -ra ranks < <(children "$mpirun"; echo)
kill -KILL "${ranks[@]}" "$mpirun"
wait "$first" && fail "the first job ended with 0"
wait $third || fail "the third job ended with $?"
matches third.log 'nothing to do' # it found the checkpoints of the first job
echo "one owner at a time; its end frees the directory"
