#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a fuzz target for five seconds: five_seconds.sh PROGRAM SEEDS FOUND. The fuzzer keeps inputs in the folder FOUND.
# The inputs are the same each time as long as the program is the same, so that what passes today passes tomorrow;
# tests/long/fuzz.sh looks for new inputs.
set -eu
program=$1 seeds=$2 found=$3
# The fuzzer's next inputs also depend on the addresses of the program. A container may forbid to fix the addresses.
still=
! setarch -R true 2>/dev/null || still='setarch -R'
rm -rf "$found"
mkdir -p "$found"
exec $still "$program" -seed=1 -max_total_time=5 -timeout=20 -artifact_prefix="$found-" "$found" "$seeds"
