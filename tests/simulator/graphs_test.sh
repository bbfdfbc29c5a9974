#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Steps that are replayed as CUDA graphs have the losses and checkpoints of steps that are not, to the bit, on one
# rank and on two, with evaluations between them; a rank that stops ends the job in time.
# usage: graphs_test.sh WEFT SIMULATED SCRATCH
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
declare -A jobs=([windows]=$root/configs/sample/gpt.yaml [pairs]=$root/configs/sample/translation.yaml)
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set schedule.warmup_steps=1
  --set checkpoint.every_steps=0 --set log.every_steps=1 --set log.generations.every_steps=0 --set evaluation.every_steps=0
  --set evaluation.max_sequences=2 --set schedule.decay_end_step=20)
declare -A sizes=([windows]='batch.sequences=2 model.max_length=48 batch.context_length=48'
  [pairs]='batch.tokens=0 batch.sequences=16 batch.order=shuffled model.ffn=64')
# settings KIND SETTING...: prints the words of a command for a job of windows or pairs.
settings() {
  printf '%s\n' "${jobs[$1]}" "${small[@]}"
  # shellcheck disable=SC2086 # words
  printf -- '--set\n%s\n' ${sizes[$1]} "${@:2}"
}
# on KIND RANKS RUN SETTING...: trains in RUN.
on() {
  local kind=$1 ranks=$2 run=$3 words
  mapfile -t words < <(settings "$kind" device=cuda run_dir="$run" "${@:4}")
  on_ranks "$ranks" env LD_LIBRARY_PATH="$simulated" WEFT_CUDA_DEVICE_COUNT="$ranks" "$weft" train "${words[@]}" >log 2>&1
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
for kind in windows pairs; do
  mapfile -t words < <(settings "$kind")
  "$weft" prepare "${words[@]}" >/dev/null 2>&1
done

on windows 1 plain train.max_steps=10 train.graphs=false || fail "without graphs"
on windows 1 graphs train.max_steps=10 || fail "with graphs"
matches log 'steps are launched as CUDA graphs'
same_runs plain graphs

for case in 'windows dp2' 'pairs tp2 parallel.tp=2 parallel.sequence_parallel=true'; do
  read -r kind run settings <<<"$case"
  for graphs in false auto; do
    # shellcheck disable=SC2086 # words
    on "$kind" 2 "$kind-$run-$graphs" train.max_steps=12 evaluation.every_steps=4 train.graphs=$graphs $settings ||
      fail "$kind $run $graphs"
  done
  same_runs "$kind-$run-false" "$kind-$run-auto"
  lacks "$kind-$run-false/metrics.jsonl" '"replayed"'
  (($(grep -c '"replayed":1' "$kind-$run-auto/metrics.jsonl") >= 2)) || fail "$kind $run: no step is a graph"
done
matches log 'padding: [0-9.]+ % of the rows'

# A device that has memory for a step, beside the 32 MiB that products work in, and not for graphs beside it: these give
# way to steps of other shapes and to evaluations, and no bit differs.
on pairs 1 roomy train.max_steps=16 evaluation.every_steps=5 train.graphs=false || fail "a device with much memory"
mib=$(sed -nE 's/.*tried once: ([0-9.]+) MiB.*/\1/p' log)
WEFT_CUDA_DEVICE_MEMORY=$(python3 -c "print(int(($mib * 1.3 + 33) * 2**20))") \
  on pairs 1 tight train.max_steps=16 evaluation.every_steps=5 || fail "a device with little memory: $(tail -3 log)"
matches log 'CUDA graphs give back their memory'
same_runs roomy tight
(($(grep -c '"replayed":1' tight/metrics.jsonl) >= 2)) || fail "tight: no step is a graph"

# A rank stops while graphs are launched; the others end.
for case in 'windows 2 dp2' 'pairs 4 dp2tp2 parallel.tp=2'; do
  read -r kind ranks run settings <<<"$case"
  # shellcheck disable=SC2086 # words
  on "$kind" "$ranks" "stopped-$run" train.max_steps=1000000 timeouts.step_seconds=30 $settings &
  job_pid=$!
  metrics=stopped-$run/metrics.jsonl
  while kill -0 $job_pid 2>/dev/null && [[ ! -f $metrics || $(wc -l <"$metrics") -lt 8 ]]; do sleep 0.1; done
  mapfile -t ours < <(for folder in /proc/[0-9]*; do
    [[ $(readlink "$folder/exe") == "$(readlink -f "$weft")" && $(readlink "$folder/cwd") == "$PWD" ]] && echo "${folder#/proc/}"
  done 2>/dev/null)
  stopped=$(of_rank 1 "${ours[@]}") || fail "no rank 1"
  kill -STOP "$stopped"
  code=0
  began=$SECONDS
  wait $job_pid || code=$?
  same "exit status with a rank that is stopped, $run" 5 "$code"
  ((SECONDS - began < 200)) || fail "it took $((SECONDS - began)) s to end"
  tells log 'no progress for [0-9]+ s in phase step.*rank 1 \([^)]*stopped by a signal'
done
echo "steps as graphs: all as expected"
