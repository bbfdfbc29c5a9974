#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many threads ranks take, under mpirun: where several share a restricted mask, they divide it.
# usage: threads_test.sh WEFT
set -euo pipefail
weft=$1
unset OMP_NUM_THREADS
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
mpirun=(mpirun --oversubscribe --bind-to none -np)
output=$(mktemp) errors=$(mktemp)
trap 'rm -f "$output" "$errors"' EXIT

fail() {
  echo "not so: $*"
  cat "$output" "$errors"
  exit 1
}
# mpirun forwards the two streams in pieces of 4096 bytes, wherever a line ends: they go to files of their own.
# expect RANKS LINE... : `weft doctor` on that many ranks, with the rest of the command line before it in `under`.
under=()
expect() {
  local ranks=$1
  shift
  "${under[@]}" "${mpirun[@]}" "$ranks" "${inside[@]}" "$weft" doctor >"$output" 2>"$errors" ||
    fail "doctor runs on $ranks ranks"
  grep -qE "^launcher +mpirun: $ranks ranks\$" "$output" || fail "it counts $ranks ranks"
  grep -qE '^MPI thread level +(FUNNELED|SERIALIZED|MULTIPLE) ' "$output" || fail "it says the thread level"
  local line
  for line in "$@"; do grep -qE "^$line\$" "$output" || fail "a line '$line'"; done
}
inside=()

mapfile -t processors < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
  awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
all=${#processors[@]} first=${processors[0]}

expect 1 "rank 0 +[^ ]+: $all threads, processors .*"
half=$((all / 2 > 0 ? all / 2 : 1))
expect 2 "rank 0 +[^ ]+: $half threads, .*" "rank 1 +[^ ]+: $half threads, .*"

# One processor for the whole job, as a pinned container gives it: one thread a rank, whatever the machine has.
under=(taskset -c "$first")
expect 2 "rank 0 +[^ ]+: 1 threads, processors $first" "rank 1 +[^ ]+: 1 threads, processors $first"

if ((all >= 2)); then
  # Two for the whole job.
  second=${processors[1]}
  under=(taskset -c "$first,$second")
  expect 2 "rank 0 +[^ ]+: 1 threads, .*" "rank 1 +[^ ]+: 1 threads, .*"
  expect 1 "rank 0 +[^ ]+: 2 threads, .*"
  # Each rank bound to its own: nothing to divide.
  under=()
  # shellcheck disable=SC2016 # expands on the rank
  inside=(bash -c 'exec taskset -c "${0%%,*}" "$@"' "$first,$second")
  expect 1 "rank 0 +[^ ]+: 1 threads, processors $first"
  # shellcheck disable=SC2016
  inside=(bash -c 'p=($0); exec taskset -c "${p[OMPI_COMM_WORLD_LOCAL_RANK]}" "$@"' "$first $second")
  expect 2 "rank 0 +[^ ]+: 1 threads, processors $first" "rank 1 +[^ ]+: 1 threads, processors $second"
  inside=()
fi

# What the user states is what counts.
under=(env OMP_NUM_THREADS=3)
expect 2 "rank 0 +[^ ]+: 3 threads, .*" "rank 1 +[^ ]+: 3 threads, .*"
echo "threads: all as expected"
