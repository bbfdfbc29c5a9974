# SPDX-License-Identifier: Apache-2.0
# Sourced by stages that run tests on the simulated CUDA device with several schedules: each operation of each of their
# processes must leave the same bits (WEFT_CUDA_DEVICE_RESULTS).
# shellcheck shell=bash

[[ $(ctest --test-dir build/cpu -N -L cuda) != *cuda.NeedsNvcc* ]] || { echo "CUDA's compiler is not here"; exit 77; }

# with_seed SCRATCH SEED COMMAND...: runs the command with that schedule, and fails if its bits differ from the first schedule's.
with_seed() {
  local scratch=$1 seed=$2
  shift 2
  echo "seed $seed"
  WEFT_CUDA_DEVICE_SEED=$seed WEFT_CUDA_DEVICE_RESULTS=$scratch/raw "$@"
  # Scratch folders have different names in each run.
  sed -E 's#/tmp/[^ \t/]*##g' "$scratch/raw" | sort >"$scratch/seed-$seed"
  rm "$scratch/raw"
  cmp -s "$scratch/seed-1" "$scratch/seed-$seed" && return
  echo "With seed $seed other bits than with seed 1 (process, operation, how often, bytes, hash):"
  diff "$scratch/seed-1" "$scratch/seed-$seed" | head -n 40
  return 1
}

# found_bits SCRATCH SEEDS: prints the number of compared results, for the record.
found_bits() {
  echo "seeds $2"
  echo "processes $(cut -f1 "$1/seed-1" | uniq | wc -l)"
  awk -F'\t' '{operations += $3; bytes += $4} END {printf "operations %.0f\nbytes %.0f\n", operations, bytes}' "$1/seed-1"
}
