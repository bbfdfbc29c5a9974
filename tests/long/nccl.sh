#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains ranks over NCCL on simulated CUDA devices: nccl.sh SCRATCH
# Losses and gradient norms of 50 steps of each layout equal those of one rank on the CPU; four steps, in which every kernel
# and collective of a layout takes part, leave the same bits with five schedules.
set -euo pipefail
source tests/long/share.sh
scratch=$1 seeds=5 cells='*'
[[ -z $WEFT_LONG_SHORT ]] || seeds=2 cells='*/Gpt_2x1*'
source tests/long/same_bits.sh

train() {
  GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$((part - 1)) WEFT_TEST_DEVICE=cuda WEFT_CUDA_DEVICE_COUNT=4 LD_LIBRARY_PATH=build/cpu/simulated \
    build/cpu/tests/trainer/nccl_parity_test --gtest_filter="$cells" --gtest_brief=1 | tee "$scratch/gtest"
}

echo "50 steps of each layout"
WEFT_WHOLE_MATRIX=1 train
passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$scratch/gtest")
((passed > 0)) || { echo "no cell was run"; exit 1; }
echo "cells $passed" >&3
with_seeds "$scratch" "$seeds" train
found_bits "$scratch" "$seeds" >&3
echo "$passed cells over NCCL agree with one rank on the CPU over 50 steps; four have the same bits for $seeds schedules"
