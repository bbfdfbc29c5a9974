#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What launch/common.sh installs, with a dpkg-query, apt-get, sudo, nvcc and python3 that only write down their calls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stub() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
# shellcheck disable=SC2016 # expands when the stub runs
stub dpkg-query 'name=${@: -1}; grep -qx "$name" '"$work"'/missing && exit 1; echo -n installed'
stub apt-get 'echo "apt-get $*" >>'"$work"'/calls'
stub sudo 'echo "sudo $*" >>'"$work"'/calls'
export PATH="$work:$PATH"
source launch/common.sh

check() { # WHAT CONDITION...
  local what=$1
  shift
  "$@" || { echo "not so: $what"; cat "$work/calls" "$work/output"; exit 1; }
}
lacks() { ! grep -q "$1" "$2"; }

: >"$work/missing"
: >"$work/calls"
install_missing_packages launch/packages.txt tests/packages.txt >"$work/output"
check "nothing is said or done when all is there" test ! -s "$work/output" -a ! -s "$work/calls"

printf 'libdnnl-dev\nninja-build\n' >"$work/missing"
install_missing_packages launch/packages.txt tests/packages.txt >"$work/output"
check "it says what is missing and why" grep -q 'libdnnl-dev .*oneDNN' "$work/output"
check "it says nothing of what is there" lacks 'zlib1g-dev' "$work/output"
who=$( ((EUID == 0)) || echo 'sudo env .*')
check "it installs those, and only those" grep -qE "^${who:-apt-get }.*install .* ninja-build libdnnl-dev\$" "$work/calls"
((EUID != 0)) || check "root needs no sudo" lacks '^sudo' "$work/calls"
((EUID == 0)) || check "others call sudo" grep -q '^sudo apt-get update' "$work/calls"

# Another list, of what tests alone need.
: >"$work/calls"
printf 'slurmd\nlibdnnl-dev\n' >"$work/missing"
install_missing_packages tests/packages.txt >"$work/output"
check "it says what a test needs it for" grep -q 'slurmd .*Slurm' "$work/output"
check "it installs what its own list names" grep -qE 'install .* slurmd$' "$work/calls"
for script in launch/quickstart.sh launch/test.sh; do
  check "$script installs what weft needs" grep -qx 'install_missing_packages launch/packages.txt' "$script"
done
check "launch/test.sh installs what tests need" grep -q '^((EUID != 0)) || install_missing_packages tests/packages.txt' launch/test.sh
check "nobody else is asked for that" lacks 'tests/packages.txt' launch/quickstart.sh

# A wheel's headers, where CUDA is compiled; nothing fails where they cannot be had.
: >"$work/calls"
wheels=$work/wheels
# shellcheck disable=SC2016 # expands when the stub runs
stub python3 'echo "python3 $*" >>'"$work"'/calls
[[ -e '"$work"'/offline ]] && exit 1
wheel=${@: -1} folder='"$wheels"'
mkdir -p "$folder/include" "$folder/cudnn" "$folder/nvidia_cudnn_frontend-${wheel##*==}.dist-info"'
if ! command -v nvcc >/dev/null; then
  install_cudnn_frontend "$wheels"
  check "without nvcc nothing is installed" test ! -s "$work/calls"
fi
stub nvcc 'true'
touch "$work/offline"
install_cudnn_frontend "$wheels" >"$work/output" || check "it continues without" false
check "it says what is done without" grep -q 'built without cuDNN' "$work/output"
check "nothing is left of it" test ! -e "$wheels"
rm "$work/offline"
for _ in 1 2; do install_cudnn_frontend "$wheels" >"$work/output"; done
check "a stated version is installed" grep -qE "pip install .*--target $wheels nvidia-cudnn-frontend==[0-9.]+\$" "$work/calls"
check "of it, the headers are kept" test -d "$wheels/include" -a ! -e "$wheels/cudnn"
check "it is installed once" test "$(grep -c pip "$work/calls")" = 2

while read -r name _; do
  [[ -z $name || $name == '#'* ]] && continue
  check "$name is a package's name" grep -qE '^[a-z0-9][a-z0-9.+-]+$' <<<"$name"
done < <(cat launch/packages.txt tests/packages.txt)
echo "packages: all as expected"
