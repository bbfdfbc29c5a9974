#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Steps that are replayed as CUDA graphs have the losses and checkpoints of steps that are not, to the bit, under several
# schedules and on two ranks, with evaluations between them; a rank that stops ends the job in time.
# usage: graphs_test.sh WEFT SIMULATED SCRATCH SEEDS
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
seeds=$4
job=$root/configs/sample/gpt.yaml
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set batch.sequences=2 --set model.max_length=48
  --set batch.context_length=48 --set schedule.warmup_steps=1 --set checkpoint.every_steps=0 --set log.every_steps=1
  --set log.generations.every_steps=0 --set evaluation.every_steps=0 --set evaluation.max_sequences=2
  --set schedule.decay_end_step=20)
# on RANKS RUN SETTING...: trains in RUN.
on() {
  local ranks=$1 run=$2 sets=()
  for setting in "${@:3}"; do sets+=(--set "$setting"); done
  on_ranks "$ranks" env LD_LIBRARY_PATH="$simulated" WEFT_CUDA_DEVICE_COUNT="$ranks" "$weft" train "$job" "${small[@]}" \
    --set device=cuda --set run_dir="$run" "${sets[@]}" >log 2>&1
}
# said RUN: prints losses, norms and the contents of the checkpoint.
said() {
  grep -oE '"(loss|nll|grad_norm)":[^,}]*' "$1/metrics.jsonl"
  checksums "$1"/checkpoints/step-*
}
same_runs() {
  matches log simulated
  said "$1" >expected
  said "$2" >got
  [[ $(wc -l <expected) -gt 20 && $(<expected) == *'"buffer":"moment2"'* ]] || fail "$1: too little to compare"
  same_files "$2 against $1" expected got
}

ln -s "$root/configs" configs # the jobs name their text relative to this folder
"$weft" prepare "$job" "${small[@]}" >/dev/null 2>&1

on 1 plain train.max_steps=10 || fail "without graphs"
for ((seed = 1; seed <= seeds; ++seed)); do
  WEFT_CUDA_DEVICE_SEED=$seed on 1 "graphs-$seed" train.max_steps=10 train.graphs=true || fail "seed $seed"
  same_runs plain "graphs-$seed"
done

for case in 'dp2' 'tp2 parallel.tp=2'; do
  read -r run settings <<<"$case"
  # shellcheck disable=SC2086 # words
  for graphs in false true; do
    on 2 "$run-$graphs" train.max_steps=6 evaluation.every_steps=2 train.graphs=$graphs $settings || fail "$run $graphs"
  done
  same_runs "$run-false" "$run-true"
done

# One of two ranks stops while graphs are launched.
on 2 stopped train.max_steps=1000000 train.graphs=true timeouts.step_seconds=30 &
job_pid=$!
while kill -0 $job_pid 2>/dev/null && [[ ! -f stopped/metrics.jsonl || $(wc -l <stopped/metrics.jsonl) -lt 5 ]]; do sleep 0.1; done
mapfile -t ours < <(for folder in /proc/[0-9]*; do
  [[ $(readlink "$folder/exe") == "$(readlink -f "$weft")" && $(readlink "$folder/cwd") == "$PWD" ]] && echo "${folder#/proc/}"
done 2>/dev/null)
stopped=$(of_rank 1 "${ours[@]}") || fail "no rank 1"
kill -STOP "$stopped"
code=0
began=$SECONDS
wait $job_pid || code=$?
same "exit status with a rank that is stopped" 5 "$code"
((SECONDS - began < 200)) || fail "it took $((SECONDS - began)) s to end"
tells log 'no progress for [0-9]+ s in phase step.*rank 1 \([^)]*stopped by a signal'
echo "steps as graphs: all as expected"
