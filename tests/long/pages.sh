#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Opens a run's timeline in Perfetto's page, in a browser: pages.sh SCRATCH
set -euo pipefail
scratch=$1
python3 -B tests/pages/against_perfetto.py build/cpu >"$scratch/said" || { status=$?; cat "$scratch/said"; exit "$status"; }
cat "$scratch/said"
echo "perfetto agrees" >&3
