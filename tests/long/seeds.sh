#!/usr/bin/env bash
# Five schedules of everything that runs on the simulated CUDA device: seeds.sh SCRATCH
# Each test must pass with each seed, and each operation of each of its processes must leave the same bits
# (WEFT_CUDA_DEVICE_RESULTS). Whole training runs compare their losses and checkpoints themselves (cuda.seeds.*).
set -euo pipefail
scratch=$1 seeds=5 tests=(-L cuda -E '^cuda\.(mutations|seeds)')
[[ -z $WEFT_LONG_SHORT ]] || seeds=2 tests=(-L cuda -R 'CudaRun|Elementwise|Program\.')
[[ $(ctest --test-dir build/cpu -N -L cuda) != *cuda.NeedsNvcc* ]] || { echo "CUDA's compiler is not here"; exit 77; }

run_tests() { ctest --test-dir build/cpu --output-on-failure --no-tests=error -j "$(nproc)" "$@" | tee "$scratch/ctest" | tail -n 30; }
count() { sed -nE 's/.*tests failed out of ([0-9]+)/\1/p' "$scratch/ctest"; }

for ((seed = 1; seed <= seeds; ++seed)); do
  echo "seed $seed"
  WEFT_CUDA_DEVICE_SEED=$seed WEFT_CUDA_DEVICE_RESULTS=$scratch/raw run_tests "${tests[@]}"
  # Scratch folders have names of their own in each run.
  sed -E 's#/tmp/[^ \t/]*##g' "$scratch/raw" | sort >"$scratch/seed-$seed"
  rm "$scratch/raw"
  cmp -s "$scratch/seed-1" "$scratch/seed-$seed" && continue
  echo "With seed $seed other bits than with seed 1 (process, operation, how often, bytes, hash):"
  diff "$scratch/seed-1" "$scratch/seed-$seed" | head -n 40
  exit 1
done
echo "seeds $seeds" >&3
echo "tests $(count)" >&3
echo "processes $(cut -f1 "$scratch/seed-1" | uniq | wc -l)" >&3
awk -F'\t' '{operations += $3; bytes += $4} END {printf "operations %d\nbytes %d\n", operations, bytes}' "$scratch/seed-1" >&3
[[ -n $WEFT_LONG_SHORT ]] || run_tests -R '^cuda\.seeds\.'
[[ -n $WEFT_LONG_SHORT ]] || echo "training-runs $(count)" >&3
echo "the same bits for $seeds schedules of $(wc -l <"$scratch/seed-1") kernels and kinds of copies in their tests"
