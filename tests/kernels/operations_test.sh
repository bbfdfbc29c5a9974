#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# operations_test.sh COMPILER INCLUDE_DIR:... BACKEND...
# An operation is registered in kernels/ops/operations.h alone. Compiles sources of kernels/ against changed copies of it:
# an operation that is not listed must not compile, and a backend (cpu, cuda) must ask the linker, by name, for its
# implementation of every operation that is listed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/support/shell.sh
compiler=$1 header=kernels/ops/operations.h
IFS=: read -ra folders <<<"$2"
backends=("${@:3}")
scratch=$(mktemp -d)
at_end rm -rf "$scratch"
mkdir -p "$scratch/kernels/ops"

# change SED_SCRIPT: makes the copy that the next compilations find first.
change() {
  sed "$1" "$header" >"$scratch/$header"
  ! cmp -s "$header" "$scratch/$header" || fail "nothing has changed in $header by $1"
}
compile=("$compiler" -std=c++20 -I"$scratch" "${folders[@]/#/-I}" -o "$scratch/object.o" -c)

change 's/ Fill,//'
refused 1 'Operation.*Fill' -- "${compile[@]}" kernels/ops/elementwise.cpp

change '
/^using ScratchOperations/i struct WithScratch {};\nstruct WithoutScratch {};
/^using ScratchOperations/,/;/s/OperationList</&WithScratch, /
/^using PlainOperations/,/;/s/OperationList</&WithoutScratch, /'
for backend in "${backends[@]}"; do
  expect 0 -- "${compile[@]}" "kernels/$backend/${backend}_backend.cpp"
  class=weft::$backend::${backend^}Backend
  contains "what the $backend backend asks the linker for" "$(nm --undefined-only --demangle "$scratch/object.o")" \
    "$class::run<weft::WithScratch>(" "$class::workspace<weft::WithScratch>(" "$class::run<weft::WithoutScratch>("
done
