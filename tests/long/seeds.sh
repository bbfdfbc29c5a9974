#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything that runs on the simulated CUDA device with five schedules: seeds.sh SCRATCH
# Each test must pass with each seed, and leave the same bits. Whole training runs compare their losses and checkpoints
# themselves (cuda.seeds.*). Ranks that are killed on purpose (cuda.failures) leave nothing to compare, the scripts of
# commands and of bench/gpu.sh run kernels that other tests run, and the stage nccl has the layouts over NCCL. Two tests of the
# simulated libraries ask for what weft never does: sums in whatever order the seed draws.
set -euo pipefail
source tests/long/share.sh
source tests/long/same_bits.sh
scratch=$1 seeds=5 tests=(-L cuda -E '^cuda\.(seeds|failures|commands|dry_run|products_refused)|NcclParity\.|^(CublasLt\.UnaskedOne|Refusals\.EachSetting)' -I "$part,,$parts")
[[ -z $WEFT_LONG_SHORT ]] || seeds=2 tests=(-L cuda -R 'CudaRun|Elementwise|Program\.')

run_tests() { ctest --test-dir build/cpu --output-on-failure --no-tests=error -j "$(nproc)" "$@" | tee "$scratch/ctest" | tail -n 30; }
count() { sed -nE 's/.*tests failed out of ([0-9]+)/\1/p' "$scratch/ctest"; }

with_seeds "$scratch" "$seeds" run_tests "${tests[@]}"
found_bits "$scratch" "$seeds" >&3
echo "tests $(count)" >&3
if [[ -z $WEFT_LONG_SHORT ]] && ((part == 1)); then
  run_tests -R '^cuda\.seeds\.'
  echo "training-runs $(count)" >&3
  run_tests -C Long -R '^cuda\.products_refused'
  echo "refusals $(count)" >&3
fi
echo "the same bits for $seeds schedules of $(wc -l <"$scratch/seed-1") kernels and kinds of copies in their tests"
