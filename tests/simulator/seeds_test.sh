#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same bits for every schedule: seeds_test.sh WEFT SIMULATED JOB SEEDS [--set KEY=VALUE ...]
# Two steps of a shipped job of the sample corpus, cut small, on the simulated device, once with each of SEEDS seeds: the
# checkpoints hold the same tensors, and the losses are the same to the last digit.
set -euo pipefail
weft=$1 simulated=$2 job=$3 seeds=$4
shift 4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/launch/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set train.max_steps=2 --set schedule.warmup_steps=1
  --set evaluation.every_steps=0 --set log.generations.every_steps=0 --set checkpoint.every_steps=0 --set log.every_steps=1
  --set evaluation.max_sequences=2 "$@")

ln -s "$root/configs" configs # the jobs name their text from there
"$weft" prepare "$root/configs/sample/$job.yaml" "${small[@]}" >/dev/null 2>&1
first=
for ((seed = 1; seed <= seeds; ++seed)); do
  LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_SEED=$seed \
    "$weft" train "$root/configs/sample/$job.yaml" "${small[@]}" --set device=cuda --set run_dir="run-$seed" >log 2>&1 ||
    { cat log; exit 1; }
  grep -q 'simulated' log || { echo "not on the simulated device:"; cat log; exit 1; }
  said=$(
    grep -oE '"(loss|nll|grad_norm)":[^,}]*' "run-$seed/metrics.jsonl"
    checksums "run-$seed"/checkpoints/step-*
  )
  [[ $(wc -l <<<"$said") -gt 8 && $said == *'"buffer":"moment2"'* ]] || { echo "too little to compare: $said"; exit 1; }
  [[ -n $first ]] || first=$said
  [[ $said == "$first" ]] || { echo "seed $seed differs from seed 1:"; diff <(echo "$first") <(echo "$said"); exit 1; }
done
echo "$job: the same bits for $seeds schedules"
