#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# walls_test.sh COMPILER INCLUDE_DIR:... "SEEN_HEADER;..." "HIDDEN_HEADER;..."
# Compiles one #include at a time with the folders that a room's sources are compiled with: those that it sees must
# compile, those behind a wall must not be found.
set -euo pipefail
compiler=$1 status=0
IFS=: read -ra folders <<<"$2"
IFS=';' read -ra seen <<<"$3"
IFS=';' read -ra hidden <<<"$4"

# compiles HEADER: leaves what the compiler says in $said.
compiles() {
  said=$(printf '#include "%s"\n' "$1" |
    "$compiler" -std=c++20 -fsyntax-only "${folders[@]/#/-I}" -x c++ - 2>&1)
}

for header in "${seen[@]}"; do
  compiles "$header" || { printf '%s must be found:\n%s\n' "$header" "$said"; status=1; }
done
for header in "${hidden[@]}"; do
  if compiles "$header"; then
    echo "$header is found, though a wall stands before it"
    status=1
  elif [[ $said != *"$header: No such file"* && $said != *"'$header' file not found"* ]]; then
    printf '%s fails for another reason than the wall:\n%s\n' "$header" "$said"
    status=1
  fi
done
exit $status
