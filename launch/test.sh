#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds weft and runs its tests: ./launch/test.sh [--sanitizers] [--long] [ctest arguments]
#
#   ./launch/test.sh                 everything
#   ./launch/test.sh -L unit         one tier: unit, parity, mpi, e2e or style (tests/style/lint.sh)
#   ./launch/test.sh -R Checkpoint   tests by name
#   ./launch/test.sh --sanitizers    everything, then the tests of parsing, threads and file writing again under the
#                                    address, undefined-behaviour and thread sanitizers
#   ./launch/test.sh --long          everything, then all longer proof: about ten hours on two cores. The findings are
#                                    kept in bench/results/long-*.json
#   ./launch/test.sh --long seeds    only this stage of the longer proof, or one part of it (seeds:1/2); tests/long/run.sh --help
#                                    lists them
#
# CUDA is built for and tested where there is a compiler for it; WEFT_CUDA=OFF does without.
# A test that skips fails the run unless tests/expected_skips.txt declares it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/common.sh

sanitizers=false long=false
arguments=()
for argument in "$@"; do
  case $argument in
    --sanitizers) sanitizers=true ;;
    --long) long=true ;;
    -h | --help)
      say_usage
      exit 0
      ;;
    *) arguments+=("$argument") ;;
  esac
done

failed=0 total=0 status=0

# run_tests NAME DIRECTORY [ctest arguments]: adds to the sums above.
run_tests() {
  local name=$1 directory=$2 log=$2/ctest.log count
  shift 2
  say "Tests: $name"
  # One test more than there are processors, because there is always one that waits.
  ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$(($(nproc) + 1))" "$@" | tee "$log" || status=1
  # "98% tests passed, 3 tests failed out of 150"
  count=$(grep -E 'tests passed, [0-9]+ tests failed out of' "$log" | tail -1) || status=1
  if [[ $count =~ ,\ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    total=$((total + BASH_REMATCH[2]))
  fi
  tests/check_skips.sh "$log" tests/expected_skips.txt || status=1
}

install_missing_packages launch/packages.txt
((EUID != 0)) || install_missing_packages tests/packages.txt # most of what needs them needs root too
install_cudnn_frontend build/wheels
install_arrow build/arrow
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# The simulated CUDA device draws its schedules from a seed, which differs by commit but not by machine.
export WEFT_CUDA_DEVICE_SEED=${WEFT_CUDA_DEVICE_SEED:-$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1)))}
say "Schedules of the simulated CUDA device: WEFT_CUDA_DEVICE_SEED=$WEFT_CUDA_DEVICE_SEED"

# The quickstart may have configured this folder without CUDA; the tests are for all that can be built here.
say "Building in build/cpu"
build cpu "-DWEFT_CUDA=${WEFT_CUDA:-AUTO}" all
if $long && ((${#arguments[@]})); then
  exec tests/long/run.sh "${arguments[@]}"
fi
run_tests "all that the arguments choose" build/cpu "${arguments[@]}"

if $sanitizers; then
  export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
  export TSAN_OPTIONS="second_deadlock_stack=1 suppressions=$PWD/tests/tsan.supp"
  # Targets that are not built here have a placeholder test that fails. The sanitizers do not test Open MPI itself.
  choice=(-E _NOT_BUILT -LE 'mpi|e2e|style')
  say "Building with the address and undefined-behaviour sanitizers in build/cpu-asan-ubsan"
  build cpu-asan-ubsan tests/{base,base/config,data/{text,tokenizer,chat,dataset,batches,prepare},checkpoint}/all parallel_test
  run_tests "address and undefined-behaviour sanitizers" build/cpu-asan-ubsan "${choice[@]}"
  say "Building with the thread sanitizer in build/cpu-tsan"
  build cpu-tsan parallel_test
  run_tests "thread sanitizer" build/cpu-tsan "${choice[@]}"
  say "All runs together"
  printf '%d%% tests passed, %d tests failed out of %d\n' $(((total - failed) * 100 / (total > 0 ? total : 1))) "$failed" "$total"
fi
if $long; then
  tests/long/run.sh || status=1
fi
exit $status
