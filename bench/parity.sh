#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains every layout of the parity matrix for 50 steps in one process and writes the results, cell by cell:
#   bench/parity.sh [build/cpu] [bench/results/parity.json] && bench/table.py
# docs/layouts.md has the summary. It takes a few minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/cpu} out=${2:-bench/results/parity.json}
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
WEFT_WHOLE_MATRIX=1 "$build/tests/trainer/parity_test" --gtest_filter='Whole/*' --gtest_brief=1 \
  --gtest_output=json:"$raw" || echo "some cells failed" >&2
PYTHONPATH=bench/cpu python3 -B - "$raw" "$out" "$(git describe --always --dirty)" <<'PY'
import json, platform, sys
import result_file

raw, out, commit = sys.argv[1:]
cells = [t for suite in json.load(open(raw))["testsuites"] for t in suite["testsuite"]]
machine = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
rows = [{"cell": c["name"].split("/")[-1], "passed": "failures" not in c, "first": c.get("first"), "loss": c.get("loss"), "norm": c.get("norm")}
        for c in cells]
result_file.write(out, {"commit": commit, "command": "bench/parity.sh", "machine": machine, "steps": 50, "cells": rows})
PY
