#!/bin/sh
# Ten thousand inputs to a fuzz target, the same ones each time as long as the program is the same; new ones are for
# tests/long/fuzz.sh: same_inputs.sh PROGRAM SEEDS FOUND. The folder FOUND is for what the fuzzer keeps.
set -eu
program=$1 seeds=$2 found=$3
# What the fuzzer tries next depends on the addresses of the program, too. A container may forbid to hold them still.
still=
! setarch -R true 2>/dev/null || still='setarch -R'
rm -rf "$found"
mkdir -p "$found"
exec $still "$program" -seed=1 -runs=10000 -timeout=20 -artifact_prefix="$found-" "$found" "$seeds"
