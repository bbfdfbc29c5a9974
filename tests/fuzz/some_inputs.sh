#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gives a fuzz target 4,000 inputs: some_inputs.sh PROGRAM SEEDS FOUND. The fuzzer keeps inputs in the folder FOUND.
# They are counted and not timed, and the same each time as long as the program is the same: what passes today passes
# tomorrow, on a faster machine too. tests/long/fuzz.sh looks for new inputs.
set -eu
program=$1 seeds=$2 found=$3
# The fuzzer's next inputs also depend on the addresses of the program. A container may forbid to fix the addresses.
still=
! setarch -R true 2>/dev/null || still='setarch -R'
rm -rf "$found"
mkdir -p "$found"
exec $still "$program" -seed=1 -runs=4000 -timeout=20 -artifact_prefix="$found-" "$found" "$seeds"
