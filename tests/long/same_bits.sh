# SPDX-License-Identifier: Apache-2.0
# Sourced by stages that run tests on the simulated CUDA device with several schedules: each operation of each of their
# processes must leave the same bits (WEFT_CUDA_DEVICE_RESULTS).
# shellcheck shell=bash

[[ $(ctest --test-dir build/cpu -N -L cuda) != *cuda.NeedsNvcc* ]] || { echo "CUDA's compiler is not here"; exit 77; }

# with_seeds SCRATCH SEEDS COMMAND...: runs the command with that many schedules, and fails if they leave different bits. The
# last two are compared with each other alone: they stand for another compiler, which fuses products and sums, and for
# libraries of other versions, which refuse some products and graphs, and so they have other bits than the first ones.
with_seeds() {
  local scratch=$1 seeds=$2 seed first=1 other=0
  shift 2
  for ((seed = 1; seed <= seeds; ++seed)); do
    if ((seed == seeds - 1)); then first=$seed other=$seed; fi
    echo "seed $seed, contraction and refusals $other"
    WEFT_CUDA_DEVICE_CONTRACTION=$other WEFT_CUDA_DEVICE_REFUSALS=$other WEFT_CUDA_DEVICE_CUDNN=$other \
      with_seed "$scratch" "$seed" "$first" "$@"
  done
}
with_seed() {
  local scratch=$1 seed=$2 first=$3
  shift 3
  WEFT_CUDA_DEVICE_SEED=$seed WEFT_CUDA_DEVICE_RESULTS=$scratch/raw "$@"
  # Scratch folders have different names in each run.
  sed -E 's#/tmp/[^ \t/]*##g' "$scratch/raw" | sort >"$scratch/seed-$seed"
  rm "$scratch/raw"
  cmp -s "$scratch/seed-$first" "$scratch/seed-$seed" && return
  echo "With seed $seed other bits than with seed $first (process, operation, how often, bytes, hash):"
  diff "$scratch/seed-$first" "$scratch/seed-$seed" | head -n 40
  return 1
}

# found_bits SCRATCH SEEDS: prints the number of compared results, for the record.
found_bits() {
  echo "seeds $2"
  echo "processes $(cut -f1 "$1/seed-1" | uniq | wc -l)"
  awk -F'\t' '{operations += $3; bytes += $4} END {printf "operations %.0f\nbytes %.0f\n", operations, bytes}' "$1/seed-1"
}
