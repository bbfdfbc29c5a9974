#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the packages of other systems with launch/packages.txt and with the table of docs/installation.md.
# usage: distributions_test.sh [--print]     prints the table's rows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/support/shell.sh
begin=$PWD
begin_in_temporary

# One row a thing: its name, Debian's packages, then those of the other systems.
rows() {
  local name others
  while IFS= read -r others; do
    name=${others%% | *}
    echo "| $name | $(sed -nE "s/^([a-z0-9][^ ]*) +${name//+/\\+}: .*/\1/p" "$begin/launch/packages.txt" | paste -sd ' ') | ${others#* | } |"
  done < <(grep -v '^#' "$begin/launch/distributions.txt")
}
if [[ ${1:-} == --print ]]; then rows && exit; fi

# Each thing has one row, and each row a thing, in the same order.
sed -nE 's/^[a-z0-9][^ ]* +([^:]+): .*/\1/p' "$begin/launch/packages.txt" | awk '!seen[$0]++' >listed
grep -v '^#' "$begin/launch/distributions.txt" | sed 's/ | .*//' >named
same_files "the things of launch/packages.txt, and the rows of launch/distributions.txt" listed named
while IFS= read -r line; do
  same "columns of: $line" 6 "$(awk -F ' [|] ' '{ print NF }' <<<"$line")"
done < <(grep -v '^#' "$begin/launch/distributions.txt")

# The page shows them all. tests/launch/distributions_test.sh --print prints what belongs there.
rows >expected
sed -nE '/^\| needed \| Debian/,/^$/{/^\| needed/d; /^\|-/d; /^$/d; p}' "$begin/docs/installation.md" >shown
same_files "rows of the table in docs/installation.md" expected shown
echo "packages by system: all as expected"
