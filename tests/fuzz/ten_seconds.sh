#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ten seconds of a fuzz target: ten_seconds.sh PROGRAM SEEDS FOUND. The folder FOUND is for what the fuzzer keeps.
# The inputs are the same each time as long as the program is the same, so that what passes today passes tomorrow; to
# look for new ones is what tests/long/fuzz.sh is for.
set -eu
program=$1 seeds=$2 found=$3
# What the fuzzer tries next depends on the addresses of the program, too. A container may forbid to hold them still.
still=
! setarch -R true 2>/dev/null || still='setarch -R'
rm -rf "$found"
mkdir -p "$found"
exec $still "$program" -seed=1 -max_total_time=10 -timeout=20 -artifact_prefix="$found-" "$found" "$seeds"
