#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to a run on two ranks beside the faults of chaos.sh, each twenty times: mishaps.sh SCRATCH
set -euo pipefail
source tests/long/share.sh
scratch=$1 times=$((20 / parts)) hosts=(resume stop stop_first daemon cut cut_one_way slow)
[[ -z $WEFT_LONG_SHORT ]] || times=1 hosts=(cut_one_way)
weft=$PWD/build/cpu/weft
library() { find "$PWD/build/cpu/tests" -name "*weft_$1.so"; }
status=0
python3 -B tests/chaos/chaos.py "$weft" "$(library fault)" "$(library record)" "$scratch/runs" --mishaps "$times" \
  --seed "$part" --json "$scratch/counts" || status=$?
sed -nE 's/^ *"([^"]+)": ([0-9]+),?$/\1 \2/p' "$scratch/counts" >&3
((status == 0)) || exit "$status"
for case in "${hosts[@]}"; do
  for ((i = 1; i <= times; i++)); do
    tests/launch/hosts_test.sh "$weft" "$(library network)" "$scratch/hosts" "$case" || exit $?
  done
  echo "hosts-$case $times" >&3
done
echo "$((5 * times)) mishaps of runs and $((${#hosts[@]} * times)) of hosts; nothing lost"
