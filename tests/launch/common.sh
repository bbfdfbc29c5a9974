# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests that run the program under mpirun: shell.sh, ranks, and what they leave.
# shellcheck shell=bash
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"

# Open MPI refuses to run as root by default. One thread a rank: the tests compare bits, and share the machine with others.
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMP_NUM_THREADS=1
# By default all mpiruns of a user have one directory, which the last of them removes while another may be about to use it.
export OMPI_MCA_orte_tmpdir_base=$outputs/sessions
mkdir "$OMPI_MCA_orte_tmpdir_base"

# on_ranks RANKS COMMAND...: more ranks than processors are allowed, and none is bound to one.
on_ranks() { mpirun --oversubscribe --bind-to none -np "$1" "${@:2}"; }

# begin_translation_in FOLDER: the same as begin_in, with job.yaml: the keys on standard input, of a small job of
# translation. Its data are prepared.
# shellcheck disable=SC2154
begin_translation_in() {
  begin_in "$1"
  ln -s "$root/configs/sample" corpus
  { echo "extends: $root/tests/launch/fixture/translation.yaml" && cat; } >job.yaml
  "$weft" prepare job.yaml 2>prepare.log || fail "prepare"
}

# of_rank RANK PROCESS...: the process that mpirun started as that rank; fails if there is none.
of_rank() {
  local process
  for process in "${@:2}"; do
    grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$process/environ" 2>/dev/null || continue
    echo "$process"
    return
  done
  return 1
}

# children PROCESS: the processes that it has started.
children() { cat "/proc/$1/task/"*/children 2>/dev/null || true; echo; }

# checksums CHECKPOINT...: checksums of its files: for each array a line with its buffer, and a line with those of its blocks.
checksums() {
  local checkpoint
  for checkpoint in "$@"; do
    LC_ALL=C grep -aohE '"buffer":"[^"]*"|"hashes":\[[^]]*\]' "$checkpoint"/rank-*.h5
  done
}

# Jobs in the background end with the script that began them: a reader of its output would wait for their output too.
end_jobs() {
  local job
  for job in $(jobs -p); do
    pkill -TERM -P "$job" || true
    kill "$job" 2>/dev/null || true
  done
}
at_end end_jobs
