#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the entry points of a driver's library that a source does not define, as lines DONE(name):
# driver_names.sh NM LIBRARY SOURCE OUTPUT
set -euo pipefail
nm=$1 library=$2 source=$3 output=$4
"$nm" -D --defined-only "$library" | sed -n 's/.* T \(cu[A-Za-z0-9_]*\)$/\1/p' | while read -r name; do
  grep -qw "int $name" "$source" || echo "DONE($name)"
done >"$output"
