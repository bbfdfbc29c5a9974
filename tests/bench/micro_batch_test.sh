#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What bench/cuda/micro_batch.py counts of a small model: every kernel has a cause. micro_batch_test.sh BUILD SCRATCH
set -euo pipefail
build=$1 scratch=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$scratch"
python3 -B "$root/bench/cuda/micro_batch.py" --simulated "$build/simulated" --tokens 64 --context 32 --set batch.context_length=32 \
  --set model.width=64 --set model.heads=1 --set model.layers=2 --json "$scratch/queue.json" "$build/weft"
python3 - "$scratch/queue.json" <<'PYTHON'
import collections, json, sys
queued = collections.Counter()
for one in json.load(open(sys.argv[1]))["operations"]:
    queued[one["cause"]] += one["queued"]
assert "other" not in queued, queued
# Two layers: a kernel of attention forward and two backward, and three products of each of four weights. The logits' three.
assert queued["attention"] == 2 * 3 and queued["products"] == 2 * 12 + 3, queued
PYTHON
