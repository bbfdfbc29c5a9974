#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program for every x86-64 processor, at each level that this machine has: levels.sh SCRATCH. Tests of kernels, models
# and parity; ranks that differ; processors that QEMU plays.
set -euo pipefail
scratch=$1
source launch/common.sh
build portable weft kernels_test model_test parity_test >"$scratch/build" 2>&1 || { tail -n 40 "$scratch/build"; exit 1; }
filter='*'
[[ -z $WEFT_LONG_SHORT ]] || filter='Linear*:Attention*'
mapfile -t levels < <(build/portable/weft keys cpu_level | sed -nE 's/.*\(one of (.*), or null\)$/\1/p' | sed 's/, /\n/g')
highest=$(build/portable/weft doctor | sed -nE 's/^processor level +([^ ]+) .*/\1/p')
for level in "${levels[@]}"; do
  export WEFT_CPU_LEVEL=$level
  passed=0
  for test in kernels/kernels_test model/model_test trainer/parity_test; do
    build/portable/tests/$test --gtest_filter="$filter" --gtest_brief=1 | tee "$scratch/gtest"
    count=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$scratch/gtest")
    passed=$((passed + ${count:-0}))
  done
  ((passed > 0)) || { echo "no test was run at $level"; exit 1; }
  echo "$level $passed" >&3
  [[ $level != "$highest" ]] || break
done
unset WEFT_CPU_LEVEL
tests/launch/levels_test.sh build/portable/weft "$scratch/ranks"
tests/launch/processor_test.sh build/portable/weft || (($? == 77))
echo "every level up to $highest passes"
