#!/usr/bin/env bash
# clang's libFuzzer on what parses files of others: fuzz.sh SCRATCH
set -euo pipefail
scratch=$1 seconds=600
[[ -z $WEFT_LONG_SHORT ]] || seconds=5
command -v clang++-19 >/dev/null || { echo "clang++-19 is not here"; exit 77; }
cmake --preset fuzz >"$scratch/configure" || { cat "$scratch/configure"; exit 1; }
cmake --build --preset fuzz >"$scratch/build" || { tail -n 40 "$scratch/build"; exit 1; }
total=0
for program in build/fuzz/tests/fuzz/*_fuzz; do
  target=$(basename "$program" _fuzz)
  mkdir "$scratch/inputs-$target"
  "$program" -max_total_time=$seconds -print_final_stats=1 -artifact_prefix="$scratch/" \
    "$scratch/inputs-$target" "tests/fuzz/$target" >"$scratch/fuzz" 2>&1 || { tail -n 60 "$scratch/fuzz"; exit 1; }
  runs=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)/\1/p' "$scratch/fuzz")
  ((runs > 0)) || { echo "$target: nothing was run"; exit 1; }
  echo "$target $runs" >&3
  total=$((total + runs))
done
echo "$total inputs, none of which breaks anything"
