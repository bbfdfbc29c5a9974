#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numerics: same_bits under mpirun: one rank, three ranks with ZeRO 2, and two that are killed and resumed as four have
# one loss at every step and evaluation and one state at every save. usage: same_bits_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1") scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_translation_in "$scratch" <<'YAML'
name: same
device: cpu
numerics: same_bits
threads: 1
batch: {leaf_tokens: 200}
train: {max_steps: 60}
evaluation: {every_steps: 20}
checkpoint: {every_steps: 10, keep_last: 10}
YAML

# train RANKS RUN OPTION...
train() { on_ranks "$1" "$weft" train job.yaml --set run_dir="$2" "${@:3}" >"$2.log" 2>&1; }
shown=("*.log")

# What a run has computed: losses and norms of steps, losses of evaluations, digests of saved states.
results() {
  grep -E '"event":"(train|eval|save)"' "$1/metrics.jsonl" |
    grep -oE '"event":"[a-z]+"|"step":[0-9]+|"(loss|smoothed_loss|nll|grad_norm|digest)":[^,}]*' |
    paste -sd' ' | sed 's/"event"/\n&/g' | sort -u
}

train 1 one || fail "one rank"
train 3 three --set parallel.zero_stage=2 || fail "three ranks"
train 2 moved --set parallel.zero_stage=1 &
pid=$!
while kill -0 $pid 2>/dev/null && ! grep -q '"event":"train","step":2[0-9]' moved/metrics.jsonl 2>/dev/null; do sleep 0.02; done
read -r mpirun < <(children "$pid")
read -ra ranks < <(children "$mpirun")
kill -KILL "${ranks[@]}" "$mpirun" 2>/dev/null || true
wait $pid && fail "it ended before it was killed"
[[ ! -e moved/checkpoints/step-00000060 ]] || fail "it was done before it was killed"
train 4 moved || fail "resumed on four ranks"
contains "the log of the resumed run" "$(<moved.log)" "resumed from"

results one >one.results
matches one.results '"event":"save"' 6
matches one.results '"event":"eval"' 3
for run in three moved; do
  results "$run" >"$run.results"
  same_files "losses, evaluations and states of $run" one.results "$run.results"
done

# One rank, or three, can check what the run on two and four ranks has saved.
expect 0 'every save is the same' -- on_ranks 3 "$weft" verify moved --from 0
expect 0 'every save is the same' -- "$weft" verify moved --from 20 --to 40
# The job states the threads: the environment need not.
expect 0 'every save is the same' -- env -u OMP_NUM_THREADS "$weft" verify moved --from 50

refused 2 'threads: the job states 1, and OMP_NUM_THREADS is 2' 'unset OMP_NUM_THREADS' -- \
  env OMP_NUM_THREADS=2 "$weft" train job.yaml --set run_dir=other
refused 2 'threads: 1, now 2' 'allow_changes=.numerics.' -- \
  env OMP_NUM_THREADS=2 "$weft" train job.yaml --set run_dir=one --set threads=2 --set train.max_steps=61 \
  --set 'allow_changes=[train.max_steps]'
refused 2 'batch.leaf_tokens' 'threads' -- "$weft" validate job.yaml --set batch.leaf_tokens=0 --set threads=null
refused 2 'the largest step has [0-9]+ leaves of 200 tokens, and there are 40 replicas' -- \
  "$weft" validate job.yaml --ranks 40
expect 0 'MiB of integers (numerics: same_bits)' -- "$weft" plan job.yaml --layout 2x1
refused 2 'numerics: ordinary has no leaves' -- "$weft" validate job.yaml --set numerics=ordinary
echo "one result on 1, 3, and 2 then 4 ranks"
