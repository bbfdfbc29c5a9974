#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the threads that ranks take under mpirun: ranks that share a restricted mask divide it.
# usage: threads_test.sh WEFT
set -euo pipefail
weft=$1
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unset OMP_NUM_THREADS
# doctor RANKS LINE...: expects these lines of `weft doctor` on that many ranks; `under` is the command line before it,
# `inside` the command that starts each rank.
under=() inside=()
doctor() {
  local lines=("${@:2}")
  lines=("${lines[@]/#/^}")
  expect_match 0 "^launcher +mpirun: $1 ranks\$" '^MPI thread level +(FUNNELED|SERIALIZED|MULTIPLE) ' "${lines[@]/%/\$}" -- \
    "${under[@]}" mpirun --oversubscribe --bind-to none -np "$1" "${inside[@]}" "$weft" doctor
}

mapfile -t processors < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
  awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
all=${#processors[@]} first=${processors[0]}

doctor 1 "rank 0 +[^ ]+: $all threads?, processors .*"
half=$((all / 2 > 0 ? all / 2 : 1))
doctor 2 "rank 0 +[^ ]+: $half threads?, .*" "rank 1 +[^ ]+: $half threads?, .*"

# One processor for the whole job, as in a pinned container: one thread a rank, whatever the machine has.
under=(taskset -c "$first")
doctor 2 "rank 0 +[^ ]+: 1 thread, processors $first" "rank 1 +[^ ]+: 1 thread, processors $first"

if ((all >= 2)); then
  # Two processors for the whole job.
  second=${processors[1]}
  under=(taskset -c "$first,$second")
  doctor 2 "rank 0 +[^ ]+: 1 thread, .*" "rank 1 +[^ ]+: 1 thread, .*"
  doctor 1 "rank 0 +[^ ]+: 2 threads, .*"
  # Each rank bound to a processor of its own: nothing to divide.
  under=()
  # shellcheck disable=SC2016 # expands on the rank
  inside=(bash -c 'exec taskset -c "${0%%,*}" "$@"' "$first,$second")
  doctor 1 "rank 0 +[^ ]+: 1 thread, processors $first"
  # shellcheck disable=SC2016
  inside=(bash -c 'p=($0); exec taskset -c "${p[OMPI_COMM_WORLD_LOCAL_RANK]}" "$@"' "$first $second")
  doctor 2 "rank 0 +[^ ]+: 1 thread, processors $first" "rank 1 +[^ ]+: 1 thread, processors $second"
  inside=()
fi

# A number of threads that the user sets is used.
under=(env OMP_NUM_THREADS=3)
doctor 2 "rank 0 +[^ ]+: 3 threads, .*" "rank 1 +[^ ]+: 3 threads, .*"
echo "threads: all as expected"
