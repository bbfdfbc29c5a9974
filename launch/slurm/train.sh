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
# all others may be gone before srun has read what it said. The first rank's words lie in a folder of this start's own,
# which the ranks of all nodes see and nobody else can write to. on_signal is called with a signal that this script gets
# meanwhile, and the launcher's process; told_to_end is set where that was SIGTERM.
run() {
  local folder said pid=
  folder=$(mktemp -d "$PWD/weft-$SLURM_JOB_ID.exit.XXXXXX") || folder=
  export WEFT_EXIT_FILE=${folder:+$folder/code}
  told_to_end=
  trap 'on_signal USR1 "$pid"' USR1
  trap 'told_to_end=yes; on_signal TERM "$pid"' TERM
  "$@" &
  pid=$!
  code=0
  wait "$pid" || code=$?
  while kill -0 "$pid" 2>/dev/null; do # it was a signal that ended the wait
    code=0
    wait "$pid" || code=$?
  done
  trap '' USR1 TERM
  why=
  if [[ -s $WEFT_EXIT_FILE ]]; then
    { read -r said || true; why=$(cat); } <"$WEFT_EXIT_FILE"
    # A number and nothing else: in an arithmetic expression bash runs what stands in the subscript of a name.
    [[ ! $said =~ ^[1-9][0-9]{0,2}$ ]] || code=$said
  fi
  [[ -z $folder ]] || rm -rf "$folder"
}

# Slurm sends the tasks of srun what it sends to a job: this script has nothing to pass on, and must outlive them.
on_signal() { echo "$(date -Is) job $SLURM_JOB_ID: SIG$1"; }

# Whether Slurm ends the job, by scancel or to give its place to another one, and not because its time is over. It then
# sends SIGTERM to this script too. A job that is to make way soon gets it in its tasks alone, and still runs.
is_ended_by_slurm() {
  local job
  job=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null) || true
  [[ $job != *Reason=TimeLimit* ]] && [[ -n $told_to_end || $job =~ JobState=(CANCELLED|COMPLETING) ]]
}

# Ends the job; or requeues it, so that the same command resumes by itself: it saved and stopped as requested
# to (75), hung (5), or was killed (more than 128). What a restart does not mend ends the job: a wrong configuration,
# bad data, divergence, restarts without progress. A job that Slurm ends is left to it: a requeue would revive one that
# the user has cancelled.
end() {
  echo "$(date -Is) job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): exit code $code${why:+: $why}"
  if ((code == 75 || code == 5 || code > 128)); then
    if is_ended_by_slurm; then
      echo "Slurm ends this job: this script does not queue it again"
    elif ((${SLURM_RESTART_COUNT:-0} < ${WEFT_MAX_REQUEUES:-100})); then
      scontrol requeue "$SLURM_JOB_ID" || echo "this script cannot requeue it: submit it again to resume"
    else
      echo "requeued $SLURM_RESTART_COUNT times, as often as WEFT_MAX_REQUEUES allows: submit it again to resume"
    fi
  fi
  exit "$code"
}
