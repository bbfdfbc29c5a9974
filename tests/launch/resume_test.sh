#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that was stopped at any moment and resumed ends like one that never stopped: trains a small job straight, and
# again with SIGKILL, SIGUSR1 and SIGTERM at several moments under mpirun, and compares weights and moments bit for bit.
# usage: resume_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_translation_in "$scratch" <<'YAML'
name: resume
batch: {micro_batch_tokens: 250}
train: {max_steps: 120}
evaluation: {every_steps: 40}
checkpoint: {every_steps: 10, keep_last: 3}
YAML

train() { on_ranks 2 "$weft" train job.yaml --set run_dir="$1" >"$1.log" 2>&1; }
steps_done() { tail -n 1 "$1/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"step":([0-9]+).*/\1/p' | grep . || echo 0; }

train straight
final=checkpoints/step-00000120
shown=("*.log")
[[ -d straight/$final ]] || fail "the straight run did not end"

sums() { checksums "$1/$final"; }
sums straight >straight.sums

for case in KILL:15 KILL:33 KILL:71 USR1:25 TERM:52; do
  signal=${case%:*} at=${case#*:} run=stopped-${case/:/-}
  train "$run" &
  pid=$!
  while kill -0 $pid 2>/dev/null && (($(steps_done "$run") < at)); do sleep 0.02; done
  read -r mpirun < <(children "$pid")
  read -ra ranks < <(children "$mpirun")
  [[ $signal != KILL ]] || ranks+=("$mpirun") # and all ranks at once
  kill -"$signal" "${ranks[@]}" 2>/dev/null || true
  code=0
  wait $pid || code=$?
  ((code != 0)) || fail "$case: the run ended before the signal came"
  [[ ! -d $run/checkpoints/step-00000120 ]] || fail "$case: not interrupted"
  train "$run" || fail "$case: the resumed run failed"
  sums "$run" >"$run.sums"
  same_files "$case: checksums of weights and moments" straight.sums "$run.sums"
  echo "$case: exit $code, resumed $(grep -oE 'at step [0-9]+' "$run.log" | head -1), same bits"
done

# A finished run has nothing to do, and a checkpoint that does not exist is an error.
expect 0 'nothing to do: step 120 of 120' -- on_ranks 2 "$weft" train job.yaml --set run_dir=straight
refused 3 'no such checkpoint directory' -- "$weft" train job.yaml --set run_dir=nowhere --resume nowhere/step-1
echo "all runs end in the same weights"
