#!/usr/bin/env bash
# install_missing_packages of launch/common.sh, with a dpkg-query, apt-get and sudo that only write down their calls.
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
install_missing_packages >"$work/output"
check "nothing is said or done when all is there" test ! -s "$work/output" -a ! -s "$work/calls"

printf 'libdnnl-dev\nninja-build\n' >"$work/missing"
install_missing_packages >"$work/output"
check "it says what is missing and why" grep -q 'libdnnl-dev .*oneDNN' "$work/output"
check "it says nothing of what is there" lacks 'zlib1g-dev' "$work/output"
who=$( ((EUID == 0)) || echo 'sudo env .*')
check "it installs those, and only those" grep -qE "^${who:-apt-get }.*install .* ninja-build libdnnl-dev\$" "$work/calls"
((EUID != 0)) || check "root needs no sudo" lacks '^sudo' "$work/calls"
((EUID == 0)) || check "others call sudo" grep -q '^sudo apt-get update' "$work/calls"

while read -r name _; do
  [[ -z $name || $name == '#'* ]] && continue
  check "$name is a package's name" grep -qE '^[a-z0-9][a-z0-9.+-]+$' <<<"$name"
done <launch/packages.txt
echo "packages: all as expected"
