#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# operations_test.sh COMPILER INCLUDE_DIR:... BACKEND...
# An operation is registered in kernels/ops/operations.h alone. Compiles sources of kernels/ against changed copies of it:
# an operation that is not listed must not compile, and a backend (cpu, cuda) must ask the linker, by name, for its
# implementation of every operation that is listed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compiler=$1 header=kernels/ops/operations.h status=0
IFS=: read -ra folders <<<"$2"
backends=("${@:3}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/kernels/ops"

# change SED_SCRIPT: makes the copy that the next compilations find first.
change() {
  sed "$1" "$header" >"$scratch/$header"
  ! cmp -s "$header" "$scratch/$header" || { echo "nothing has changed in $header by $1"; exit 1; }
}
# compile SOURCE: leaves what the compiler says in $said.
compile() {
  said=$("$compiler" -std=c++20 -I"$scratch" "${folders[@]/#/-I}" -c "$1" -o "$scratch/object.o" 2>&1)
}

change 's/ Fill,//'
if compile kernels/ops/elementwise.cpp; then
  echo "an operation that is not listed compiles"
  status=1
elif [[ $said != *Operation*Fill* ]]; then
  printf 'elementwise.cpp fails for another reason than that Fill is not listed:\n%s\n' "$said"
  status=1
fi

change '
/^using ScratchOperations/i struct WithScratch {};\nstruct WithoutScratch {};
/^using ScratchOperations/,/;/s/OperationList</&WithScratch, /
/^using PlainOperations/,/;/s/OperationList</&WithoutScratch, /'
for backend in "${backends[@]}"; do
  compile "kernels/$backend/${backend}_backend.cpp" || { printf '%s\n' "$said"; exit 1; }
  undefined=$(nm --undefined-only --demangle "$scratch/object.o")
  for wanted in 'run<weft::WithScratch>(' 'workspace<weft::WithScratch>(' 'run<weft::WithoutScratch>('; do
    [[ $undefined == *"weft::$backend::${backend^}Backend::$wanted"* ]] && continue
    echo "the $backend backend links without $wanted"
    status=1
  done
done
exit $status
