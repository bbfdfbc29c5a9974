#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Made checkpoint-vN in this folder, N the format version that a build writes: make.sh BUILD N
# What is here stays as it is. Only a new version adds to it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weft=$(realpath "$1")/weft target=$here/checkpoint-v$2
[[ ! -e $target ]] || { echo "$target is there"; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for ((i = 1; i <= 40; ++i)); do printf 'a little text of few letters, number %d\n\n' "$i"; done >text.txt
"$weft" prepare "$here/job.yaml"
mpirun --oversubscribe -np 4 "$weft" train "$here/job.yaml"
cp -r runs/golden/checkpoints/step-00000004 "$target"
