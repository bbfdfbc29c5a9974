#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 19 on every source that build/cpu compiles: tidy.sh SCRATCH
set -euo pipefail
source tests/long/share.sh
mapfile -t files < <(tests/style/tidy.sh --all --list | share)
files=(--at-most ${#files[@]} "${files[@]}")
[[ -z $WEFT_LONG_SHORT ]] || files=(base/files.cpp)
status=0
tests/style/tidy.sh "${files[@]}" | tee "$1/findings" || status=$?
echo "files $(sed -nE 's/^clang-tidy looked at ([0-9]+) files$/\1/p' "$1/findings")" >&3
echo "findings $(grep -cE '^[^ ]+:[0-9]+:[0-9]+: (error|warning): ' "$1/findings" || true)" >&3
((status == 0)) || exit "$status"
[[ -n $WEFT_LONG_SHORT ]] || echo "Nothing found: tests/style/tidy_base may name this commit"
