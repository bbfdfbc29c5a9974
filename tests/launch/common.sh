# Sourced by the tests that run the program under mpirun.
# shellcheck shell=bash

# Open MPI refuses root unless told. A thread a rank: the tests compare bits, and share the machine with other tests.
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMP_NUM_THREADS=1

# begin_in FOLDER: works in it from now on, without what an earlier run left there.
begin_in() { rm -rf "$1" && mkdir -p "$1" && cd "$1"; }

# on_ranks RANKS COMMAND...: more ranks than processors are allowed, and none is bound to one.
on_ranks() { mpirun --oversubscribe --bind-to none -np "$1" "${@:2}"; }
