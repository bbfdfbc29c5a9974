#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Disturbs training runs in every phase: chaos.sh SCRATCH
set -euo pipefail
source tests/long/share.sh
scratch=$1 faults=$((600 / parts))
[[ -z $WEFT_LONG_SHORT ]] || faults=16
library() { find build/cpu/tests/chaos -name "*weft_$1.so"; }
status=0
python3 -B tests/chaos/chaos.py build/cpu/weft "$(library fault)" "$(library record)" "$scratch/runs" --faults $faults --seed "$part" --json "$scratch/counts" || status=$?
sed -nE 's/^ *"([^"]+)": ([0-9]+),?$/\1 \2/p' "$scratch/counts" >&3
exit $status
