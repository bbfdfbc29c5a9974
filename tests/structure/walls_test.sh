#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# walls_test.sh COMPILER INCLUDE_DIR:... "SEEN_HEADER;..." "HIDDEN_HEADER;..."
# Compiles one #include at a time with the folders that a room's sources are compiled with: the headers that the room sees
# must compile, those behind a wall must not be found.
set -euo pipefail
compiler=$1
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
IFS=: read -ra folders <<<"$2"
IFS=';' read -ra seen <<<"$3"
IFS=';' read -ra hidden <<<"$4"

compile=("$compiler" -std=c++20 -fsyntax-only "${folders[@]/#/-I}" -x c++ -)
for header in "${seen[@]}"; do
  expect 0 -- "${compile[@]}" <<<"#include \"$header\""
done
for header in "${hidden[@]}"; do # in the words of gcc or of clang
  expect_match 1 "$header: No such file|'$header' file not found" -- "${compile[@]}" <<<"#include \"$header\""
done
