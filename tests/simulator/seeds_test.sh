#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every schedule gives the same bits: seeds_test.sh WEFT SIMULATED JOB SEEDS [--set KEY=VALUE ...]
# Runs two steps of a small version of a shipped job of the sample corpus on the simulated device, once with each of SEEDS
# seeds, and once without a pool of memory, where the device sees each tensor's end and its first use: the checkpoints
# hold the same tensors, and the losses are the same to the last digit.
set -euo pipefail
weft=$1 simulated=$2 job=$3 seeds=$4
shift 4
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
begin_in_temporary
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set train.max_steps=2 --set schedule.warmup_steps=1
  --set evaluation.every_steps=0 --set log.generations.every_steps=0 --set checkpoint.every_steps=0 --set log.every_steps=1
  --set evaluation.max_sequences=2 "$@")

ln -s "$root/configs" configs # the jobs name their text relative to this folder
"$weft" prepare "$root/configs/sample/$job.yaml" "${small[@]}" >/dev/null 2>&1
first=
for ((seed = 0; seed <= seeds; ++seed)); do
  pool=on
  ((seed > 0)) || pool=off
  LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_SEED=$seed WEFT_MEMORY_POOL=$pool \
    "$weft" train "$root/configs/sample/$job.yaml" "${small[@]}" --set device=cuda --set run_dir="run-$seed" >log 2>&1 ||
    fail "seed $seed, the pool $pool"
  matches log simulated
  said=$(
    grep -oE '"(loss|nll|grad_norm)":[^,}]*' "run-$seed/metrics.jsonl"
    checksums "run-$seed"/checkpoints/step-*
  )
  [[ $(wc -l <<<"$said") -gt 8 && $said == *'"buffer":"moment2"'* ]] || fail "too little to compare: $said"
  [[ -n $first ]] || first=$said
  same_files "seed $seed against seed 0" <(echo "$first") <(echo "$said")
done
echo "$job: the same bits for $seeds schedules"
