#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang's libFuzzer on the parsers of foreign files, as many targets at once as there are processors: fuzz.sh SCRATCH
set -euo pipefail
source tests/long/share.sh
scratch=$1 seconds=600
[[ -z $WEFT_LONG_SHORT ]] || seconds=5
command -v clang++-19 >/dev/null || { echo "clang++-19 is not here"; exit 77; }
cmake --preset fuzz >"$scratch/configure" || { cat "$scratch/configure"; exit 1; }
cmake --build --preset fuzz --target fuzz_targets >"$scratch/build" || { tail -n 40 "$scratch/build"; exit 1; }

# fuzz PROGRAM: runs a target; its log is in the scratch folder, with "finding" in the name if it has a finding.
fuzz() {
  local target
  target=$(basename "$1" _fuzz)
  mkdir "$scratch/inputs-$target"
  # Whatever nests may nest this deeply.
  head -c 2000000 /dev/zero | tr '\0' '[' >"$scratch/inputs-$target/deep"
  "$1" -max_len=2000000 -max_total_time="$seconds" -timeout=60 -print_final_stats=1 -artifact_prefix="$scratch/$target-" \
    "$scratch/inputs-$target" "tests/fuzz/$target" >"$scratch/log-$target" 2>&1 ||
    mv "$scratch/log-$target" "$scratch/finding-$target"
}
export -f fuzz
export scratch seconds
mapfile -t programs < <(printf '%s\n' build/fuzz/tests/fuzz/*_fuzz | share)
printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'

total=0 status=0
for program in "${programs[@]}"; do
  target=$(basename "$program" _fuzz)
  if [[ -e $scratch/finding-$target ]]; then
    echo "$target:" && tail -n 60 "$scratch/finding-$target"
    status=1
    continue
  fi
  runs=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)/\1/p' "$scratch/log-$target")
  ((runs > 0)) || { echo "$target: nothing was run"; exit 1; }
  echo "$target $runs" >&3
  total=$((total + runs))
done
((status == 0)) || exit 1
echo "seconds_each ${seconds}s" >&3
echo "$total inputs, none of which breaks anything"
