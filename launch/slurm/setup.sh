# SPDX-License-Identifier: Apache-2.0
# Sourced by the batch scripts before anything else: what a job needs of its cluster, then the program and its threads.
# These variables may be set for a job (sbatch --export=ALL,NAME=VALUE), or in the file that WEFT_SETUP names:
#   WEFT_SETUP   a file of shell commands that prepare every job of this cluster: module load, LD_LIBRARY_PATH, WEFT=...;
#                a relative path begins in the folder from which the job was submitted
#   WEFT         the program; build/cpu/weft
# shellcheck shell=bash

if [[ -n ${WEFT_SETUP:-} ]]; then
  # Without a slash, `source` would look for the file on the PATH.
  [[ $WEFT_SETUP == */* ]] || WEFT_SETUP=./$WEFT_SETUP
  if [[ ! -f $WEFT_SETUP || ! -r $WEFT_SETUP ]]; then
    echo "WEFT_SETUP=$WEFT_SETUP: there is no such file on $(hostname -s) that this job can read (in $PWD); correct the path or unset WEFT_SETUP" >&2
    exit 2
  fi
  # Functions such as `module` read variables that are not set, and run commands that fail: they decide what is an error.
  set +euo pipefail
  # shellcheck disable=SC1090 # the user's file
  source "$WEFT_SETUP"
  setup=$?
  set -euo pipefail
  if ((setup)); then
    echo "WEFT_SETUP=$WEFT_SETUP: its last command failed with status $setup; run it by hand on $(hostname -s): source $WEFT_SETUP" >&2
    exit 2
  fi
fi

# shellcheck disable=SC2034 # for the batch scripts
weft=${WEFT:-${WEFT_ROOT:-$PWD}/build/cpu/weft}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}
