#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One result on 1, 2, 3, 4, 7 and 8 replicas, at every ZeRO stage, in fp32 and bf16, of language models and of translation,
# after 200 steps: of steps alone, and of whole runs with early stopping that are killed and resumed on other numbers of
# replicas. replicas.sh SCRATCH
set -euo pipefail
scratch=$1 cells='Whole/SameBits.*' runs='Whole/SameBitsKilled.*'
source tests/long/share.sh
[[ -z $WEFT_LONG_SHORT ]] || cells='Whole/*_2x1_zero0*' runs='Whole/SameBitsKilled.*/GptFp32_2_zero0'
export WEFT_WHOLE_MATRIX=1 GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$((part - 1))

# passed PROGRAM FILTER: the number of its tests, all of which pass; some are run.
passed() {
  build/cpu/tests/trainer/"$1" --gtest_filter="$2" --gtest_brief=1 >"$scratch/gtest" 2>&1 || {
    tail -n 60 "$scratch/gtest"
    exit 1
  } >&2
  sed -nE 's/^\[  PASSED  \] ([1-9][0-9]*) tests?\.$/\1/p' "$scratch/gtest" | grep .
}
same=$(passed same_bits_test "$cells")
killed=$(passed trainer_test "$runs")
printf '%s\n' "cells $same" "killed $killed" >&3
echo "$same cells have the bits of one replica after 200 steps, and $killed killed runs its state"
