#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what launch/common.sh installs, with a dpkg-query, apt-get, sudo, nvcc and python3 that only log their calls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/support/shell.sh
work=$(mktemp -d)
at_end rm -rf "$work"
shown=("$work/calls" "$work/output")

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

: >"$work/missing"
: >"$work/calls"
install_missing_packages launch/packages.txt tests/packages.txt >"$work/output"
same "what is said and done when all is there" '' "$(cat "$work/output" "$work/calls")"

printf 'libdnnl-dev\nninja-build\n' >"$work/missing"
install_missing_packages launch/packages.txt tests/packages.txt >"$work/output"
matches "$work/output" 'libdnnl-dev .*oneDNN' # the missing package and its purpose
lacks "$work/output" 'zlib1g-dev'             # an installed package
who=$( ((EUID == 0)) || echo 'sudo env .*')
matches "$work/calls" "^${who:-apt-get }.*install .* ninja-build libdnnl-dev\$" # only the missing packages
if ((EUID == 0)); then lacks "$work/calls" '^sudo'; else matches "$work/calls" '^sudo apt-get update'; fi

# Another list: the packages that only tests need.
: >"$work/calls"
printf 'slurmd\nlibdnnl-dev\n' >"$work/missing"
install_missing_packages tests/packages.txt >"$work/output"
matches "$work/output" 'slurmd .*Slurm' # the test that needs it
matches "$work/calls" 'install .* slurmd$' # only packages of this list
for script in launch/quickstart.sh launch/test.sh; do
  matches "$script" '^ *install_missing_packages launch/packages.txt$'
done
matches launch/test.sh '^\(\(EUID != 0\)\) \|\| install_missing_packages tests/packages\.txt'
lacks launch/quickstart.sh 'tests/packages.txt' # users need no packages of tests

# A wheel's headers, if CUDA is compiled; nothing fails if they are unavailable.
: >"$work/calls"
wheels=$work/wheels
# shellcheck disable=SC2016 # expands when the stub runs
stub python3 'echo "python3 $*" >>'"$work"'/calls
[[ -e '"$work"'/offline ]] && exit 1
wheel=${@: -1} folder='"$wheels"'
mkdir -p "$folder/include" "$folder/cudnn" "$folder/nvidia_cudnn_frontend-${wheel##*==}.dist-info"'
if ! command -v nvcc >/dev/null; then
  install_cudnn_frontend "$wheels"
  same "what is installed without nvcc" '' "$(<"$work/calls")"
fi
stub nvcc 'true'
touch "$work/offline"
install_cudnn_frontend "$wheels" >"$work/output" || fail "a missing wheel is no error"
matches "$work/output" 'built without cuDNN'
[[ ! -e $wheels ]] || fail "something is left of the wheel"
rm "$work/offline"
for _ in 1 2; do install_cudnn_frontend "$wheels" >"$work/output"; done
matches "$work/calls" "pip install .*--target $wheels nvidia-cudnn-frontend==[0-9.]+\$" # a fixed version
[[ -d $wheels/include && ! -e $wheels/cudnn ]] || fail "of the wheel not the headers alone are kept"
matches "$work/calls" pip 2 # one call failed, and one installed it: it is installed once

# Arrow comes from a wheel too, whose checksum is right or nothing is left of it.
# shellcheck disable=SC2016 # expands when the stub runs
stub python3 'echo "python3 $*" >>'"$work"'/calls
folder='"$work"'/arrow
mkdir -p "$folder" && echo "not a wheel" >"$folder/pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl"'
: >"$work/calls"
install_arrow "$work/arrow" >"$work/output" || fail "a wrong wheel is no error"
matches "$work/output" 'built without Parquet'
matches "$work/calls" "pip download .*--dest $work/arrow pyarrow==26\.0\.1\$"
[[ ! -e $work/arrow ]] || fail "something is left of a wrong wheel"
mkdir -p "$work/arrow/pyarrow-26.0.1.dist-info"
install_arrow "$work/arrow" >"$work/output"
same "what is said where Arrow is there" '' "$(<"$work/output")"

while read -r name _; do
  [[ -z $name || $name == '#'* ]] && continue
  [[ $name =~ ^[a-z0-9][a-z0-9.+-]+$ ]] || fail "$name is not a package's name"
done < <(cat launch/packages.txt tests/packages.txt)
echo "packages: all as expected"
