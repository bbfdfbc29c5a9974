#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries every patch of tests/mutations, or of a folder in it, one at a time: mutations.sh SCRATCH [FOLDER/]
set -euo pipefail
source tests/long/share.sh
scratch=$1 folder=${2:-}
mapfile -t patches < <(printf '%s\n' tests/mutations/"$folder"*.patch | sed -E 's#^tests/mutations/(.*)\.patch$#\1#' | share)
[[ -z $WEFT_LONG_SHORT ]] || patches=("${patches[0]}")
status=0
tests/mutations/run.sh "${patches[@]}" | tee "$scratch/patches" || status=1
# "caught     cuda/41-row-sums                     kernels_test ..."
sed -nE 's/^(caught|SURVIVED|NOT BUILT) +([^ ]+) .*/\2 \1/p' "$scratch/patches" >&3
exit $status
