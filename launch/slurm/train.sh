# SPDX-License-Identifier: Apache-2.0
# Sourced by the batch scripts beside it, which are submitted from the root of weft's sources, or with WEFT_ROOT set to
# it. What may be set for a job (sbatch --export=ALL,NAME=VALUE):
#   WEFT                the program; build/cpu/weft
#   WEFT_MAX_RESTARTS   restarts in a row without a later checkpoint, before a run is given up (exit code 7); 3
#   WEFT_MAX_REQUEUES   times that a job is queued again, whatever the reason: one that dies before it trains is not
#                       counted by weft; 100
#   WEFT_SRUN_MPI       the interface by which srun's tasks find each other (srun --mpi=list); pmix
# shellcheck shell=bash

weft=${WEFT:-${WEFT_ROOT:-$PWD}/build/cpu/weft}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}

# What is trained: the arguments of the batch script. Those of the user come last, so that they count.
training() {
  (($#)) || { echo "usage: sbatch ${0##*/} JOB [arguments of weft train]" >&2; exit 2; }
  # shellcheck disable=SC2034 # for the batch scripts
  command=("$weft" train "$1" --set "train.max_restarts=${WEFT_MAX_RESTARTS:-3}" "${@:2}")
}

# run COMMAND...: sets code to the exit code of the first rank that failed, and why to its last words; or code to the
# launcher's. The two differ: srun --kill-on-bad-exit returns 143, of a rank that it ended itself, and a rank that ends
# all others may be gone before srun has read what it said. on_signal is called with a signal that this
# script gets meanwhile, and the launcher's process.
run() {
  local signal pid
  export WEFT_EXIT_FILE=$PWD/weft-$SLURM_JOB_ID.exit
  rm -f "$WEFT_EXIT_FILE"
  "$@" &
  pid=$!
  for signal in USR1 TERM; do
    # shellcheck disable=SC2064 # pid is this one
    trap "on_signal $signal $pid" $signal
  done
  code=0
  wait "$pid" || code=$?
  while kill -0 "$pid" 2>/dev/null; do # it was a signal that ended the wait
    code=0
    wait "$pid" || code=$?
  done
  trap '' USR1 TERM
  why=
  [[ ! -s $WEFT_EXIT_FILE ]] || { read -r code; why=$(cat); } <"$WEFT_EXIT_FILE"
  rm -f "$WEFT_EXIT_FILE"
}

# Slurm sends the tasks of srun what it sends to a job: this script has nothing to pass on, and must outlive them.
on_signal() { echo "$(date -Is) job $SLURM_JOB_ID: SIG$1"; }

# Ends the job; or has it queued again, where the same command goes on by itself: it saved and stopped as it was asked
# to (75), hung (5), or was killed (more than 128). What a restart does not mend ends the job: a wrong configuration,
# bad data, divergence, restarts without progress.
end() {
  echo "$(date -Is) job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): exit code $code${why:+: $why}"
  if ((code == 75 || code == 5 || code > 128)); then
    if ((${SLURM_RESTART_COUNT:-0} < ${WEFT_MAX_REQUEUES:-100})); then
      scontrol requeue "$SLURM_JOB_ID" || echo "this script cannot requeue it: submit it again, and it goes on"
    else
      echo "requeued $SLURM_RESTART_COUNT times, as often as WEFT_MAX_REQUEUES allows: submit it again, and it goes on"
    fi
  fi
  exit "$code"
}
