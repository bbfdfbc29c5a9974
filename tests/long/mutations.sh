#!/usr/bin/env bash
# Every patch of tests/mutations: mutations.sh SCRATCH
set -euo pipefail
scratch=$1 chosen=()
[[ -z $WEFT_LONG_SHORT ]] || chosen=(--pick 1 cuda/)
status=0
tests/mutations/run.sh "${chosen[@]}" | tee "$scratch/patches" || status=1
# "caught     cuda/41-row-sums                     kernels_test ..."
sed -nE 's/^(caught|SURVIVED|NOT BUILT) +([^ ]+) .*/\2 \1/p' "$scratch/patches" >&3
exit $status
