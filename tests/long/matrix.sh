#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every cell of the parity matrix for 50 steps: matrix.sh SCRATCH. bench/parity.sh keeps the figures of each.
set -euo pipefail
scratch=$1 cells='Whole/*'
[[ -z $WEFT_LONG_SHORT ]] || cells='Whole/*2x1_zero0'
WEFT_WHOLE_MATRIX=1 build/cpu/tests/trainer/parity_test --gtest_filter="$cells" --gtest_brief=1 | tee "$scratch/gtest"
passed=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$scratch/gtest")
((passed > 0)) || { echo "no cell was run"; exit 1; }
echo "cells $passed" >&3
echo "$passed cells agree with one rank over 50 steps"
