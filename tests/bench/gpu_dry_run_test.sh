#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every stage of bench/gpu.sh on the simulated device, and a device that fails: gpu_dry_run_test.sh BUILD SCRATCH
set -euo pipefail
build=$1 scratch=$2
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
export LD_LIBRARY_PATH=$build/simulated

# A Python without PyTorch: peers are left out.
measure() {
  local name=$1
  shift
  "$root/bench/gpu.sh" --dry-run --budget 3600 --build "$build" --steps 1 --commit here --python /bin/false \
    --out "$name.json" --raw "$name-raw.json" "$@"
}

measure all >said || fail "every stage: $(<said)"
matches said '^everything passed'
python3 - all.json <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
outcomes = {stage["stage"]: stage["outcome"] for stage in result["stages"]}
left_out = {"PyTorch gpt2-124m", "PyTorch transformer-base"}
tools = {"memcheck", "racecheck", "initcheck"}  # of compute-sanitizer, which a machine may have
wanted = {"doctor", "gpt2-124m", "gpt2-124m own attention", "gpt2-124m no graphs", "same bits: a second run", "same bits: without graphs",
          "same bits: killed and resumed", "same bits: stopped and resumed", "same bits: two ranks again", "gpt: losses",
          "translation: losses", "sample-translate: losses", "tests of operations", "tests of whole steps",
          "tests of steps as graphs", "tests of graphs", "tests of copies", "tests of a library's attention", "tests of NCCL",
          "tests of layouts over NCCL", "gpt2-350m", "gpt2-774m", "gpt2-1558m", "transformer-base"} | left_out
assert outcomes.keys() - tools == wanted, outcomes.keys() ^ wanted
assert {name for name, outcome in outcomes.items() if outcome != "passed"} - tools == left_out, outcomes
assert result["simulated"] is True and len(result["gpu"]["steps"]) == 7, result["gpu"]
PYTHON

# What has passed is not done again.
measure all --resume --budget 5 >again || fail "a second call: $(<again)"
lacks again '^gpt2-124m:'

# After a stage that fails the others are done, and the first to be looked at is the first that failed.
code=0
WEFT_CUDA_DEVICE_FAIL_KERNEL=20 measure failed --models gpt2-124m --skip 'same bits,smoke,tests,peers,translation,gpt2-124m no graphs' >said || code=$?
same "exit status after failures" 1 "$code"
matches said '^gpt2-124m own attention: failed'
matches said '^to be looked at, the first first: gpt2-124m, gpt2-124m own attention$'
echo "every stage of bench/gpu.sh: as expected"
