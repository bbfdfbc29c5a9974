#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One result on 1, 2, 3, 4, 7 and 8 replicas, at every ZeRO stage, in fp32 and bf16, of language models and of translation,
# after 200 steps: replicas.sh SCRATCH.
set -euo pipefail
scratch=$1 cells='Whole/*'
source tests/long/share.sh
[[ -z $WEFT_LONG_SHORT ]] || cells='Whole/*_2x1_zero0*'
export WEFT_WHOLE_MATRIX=1 GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$((part - 1))
build/cpu/tests/trainer/same_bits_test --gtest_filter="$cells" --gtest_brief=1 | tee "$scratch/gtest"
passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$scratch/gtest")
((passed > 0)) || { echo "no cell was run"; exit 1; }
echo "cells $passed" >&3
echo "$passed cells have the bits of one replica after 200 steps"
