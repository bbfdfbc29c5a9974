#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shipped program on several simulated devices under mpirun: the losses of the CPU on every layout; a run that lost
# a rank resumes on one CPU rank and on two devices; the device that a rank takes, and the refusals.
# usage: ranks_test.sh WEFT SIMULATED SCRATCH
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
job=$root/configs/sample/translation.yaml
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set model.ffn=64 --set batch.tokens=200
  --set schedule.warmup_steps=2 --set schedule.decay_end_step=100 --set 'checkpoint.keep_steps=[2]'
  --set evaluation.every_steps=0 --set evaluation.every_epochs=0 --set log.every_steps=1
  --set checkpoint.every_epochs=0 --set checkpoint.every_steps=2 --set log.generations.every_steps=0
  --set train.precision=fp32 --set evaluation.max_sequences=2)
# on DEVICE RANKS RUN SETTING...: trains in RUN.
on() {
  local device=$1 ranks=$2 run=$3 sets=()
  for setting in "${@:4}"; do sets+=(--set "$setting"); done
  on_ranks "$ranks" env LD_LIBRARY_PATH="$simulated" WEFT_CUDA_DEVICE_COUNT="${devices:-$ranks}" "$weft" train "$job" \
    "${small[@]}" --set device="$device" --set run_dir="$run" "${sets[@]}" >log 2>&1
}
# losses RUN: "STEP LOSS", the last loss of each step.
losses() {
  sed -nE 's/.*"event":"train","step":([0-9]+),.*"loss":([0-9.e+-]+),.*/\1 \2/p' "$1/metrics.jsonl" |
    awk '{ last[$1] = $2 } END { for (step in last) print step, last[step] }' | sort
}
# same_losses RUN FIRST: from step FIRST to 6 the losses are those of the run `cpu` within 1e-3.
same_losses() {
  join <(losses cpu) <(losses "$1") | awk -v first="$2" -v run="$1" '
      $1 >= first { n++; d = ($3 - $2) / $2; if (d < 0) d = -d; if (d > most) most = d }
      END { printf "%s: %d steps, losses within %.1e\n", run, n, most; exit !(n == 7 - first && most < 1e-3) }' ||
    fail "$1: other losses than the CPU's"
}

ln -s "$root/configs" configs # the jobs name their text relative to this folder
"$weft" prepare "$job" "${small[@]}" >/dev/null 2>&1
on cpu 1 cpu train.max_steps=6 || fail "the CPU"

for case in '2 dp2' '2 tp2 parallel.tp=2' '2 zero2 parallel.zero_stage=2' \
  '4 dp2tp2 parallel.tp=2 parallel.zero_stage=1 parallel.sequence_parallel=true'; do
  read -r ranks run settings <<<"$case"
  # shellcheck disable=SC2086 # words
  on cuda "$ranks" "$run" train.max_steps=6 $settings || fail "$run"
  matches log "rank $((ranks - 1)) GPU-" # the map of ranks and devices
  matches log simulated
  same_losses "$run" 1
done

# A rank is killed; the job ends, and resumes from its checkpoint.
on cuda 2 killed train.max_steps=1000000 &
job_pid=$!
while kill -0 $job_pid 2>/dev/null && [[ ! -d killed/checkpoints/step-00000002 ]]; do sleep 0.05; done
ranks=()
for link in /proc/[0-9]*/exe; do
  [[ $(readlink "$link" 2>/dev/null) == "$(readlink -f "$weft")" ]] || continue
  process=${link#/proc/} process=${process%/exe}
  [[ $(readlink "/proc/$process/cwd" 2>/dev/null) == "$PWD" ]] && ranks+=("$process")
done
same "ranks" 2 "${#ranks[@]}"
kill -KILL "${ranks[1]}"
code=0
wait $job_pid || code=$?
different "exit status of the job without one of its ranks" 0 "$code"
rm -rf killed/checkpoints/step-0000000[4-9]* killed/checkpoints/step-000000[1-9]* killed/run.json
cp -r killed again
changed='allow_changes=[train.max_steps]'
on cpu 1 killed train.max_steps=6 "$changed" || fail "it resumes on the CPU"
matches log 'resumed from .* at step 2'
same_losses killed 3
on cuda 2 again train.max_steps=6 "$changed" || fail "it resumes on two devices"
matches log 'resumed from .* at step 2'
same_losses again 3

# weft has CUDA load all kernels with the device; told otherwise, one of them is loaded beside a collective.
code=0
CUDA_MODULE_LOADING=LAZY on cuda 2 lazy train.max_steps=6 || code=$?
different "exit status with kernels that load at their first launch" 0 "$code"
matches log 'the first launch of .* loads it while a collective of NCCL is under way'

# Two ranks share one device.
devices=1 expect 2 -- on cuda 2 refused train.max_steps=6
matches log 'several ranks would compute on one CUDA device'
matches log 'rank 1 GPU-' # the map of ranks and devices
devices=1 on cuda 2 shared train.max_steps=6 parallel.share_device=true || fail "two ranks share a device"
same "losses on a device that is shared" "$(losses dp2)" "$(losses shared)"
devices=1 on auto 2 auto train.max_steps=3 || fail "device: auto with too few devices"
matches log 'device: auto: the CPU'
left=$(find /dev/shm -maxdepth 1 \( -iname '*simulated*' -o -iname '*weft*' \))
same "what is left behind" '' "$left"
echo "several simulated devices: all as expected"
