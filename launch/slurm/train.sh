# SPDX-License-Identifier: Apache-2.0
# Sourced by the batch scripts beside it, which are submitted from the root of weft's sources, or with WEFT_ROOT set to
# that root. These variables may be set for a job (sbatch --export=ALL,NAME=VALUE), beside those of setup.sh:
#   WEFT_MAX_RESTARTS   restarts in a row without a later checkpoint, before a run is given up (exit code 7); 3
#   WEFT_MAX_REQUEUES   times that a job is queued again, whatever the reason: one that dies before it trains is not
#                       counted by weft; 100
#   WEFT_SRUN_MPI       the interface by which srun's tasks find each other (srun --mpi=list); pmix
# shellcheck shell=bash

source "${WEFT_ROOT:-$PWD}/launch/slurm/setup.sh"

# A folder of this job's own, which its next start finds. In it, `saved` marks that the run has saved: a later start must
# find that run, and not begin another one where a file system is not mounted. `failures` counts the starts in a row that
# ended with a failed device or disk (8), `unknown` those that ended in a way that no rank told, `requeues` how often this
# script had the job queued again.
state=$PWD/weft-$SLURM_JOB_ID.state
is_own() { [[ -d $state && ! -L $state && -O $state ]]; }
# note NAME NUMBER fails where nothing can be written; noted NAME sets REPLY to the number.
note() {
  mkdir -m 700 "$state" 2>/dev/null || true
  is_own && { echo "$2" >"$state/$1"; } 2>/dev/null
}
noted() { is_own && [[ -r $state/$1 ]] && read -r REPLY <"$state/$1" && [[ $REPLY =~ ^[0-9]{1,4}$ ]]; }
# count NAME HAPPENED: sets REPLY to the number of starts in a row in which it happened (1, not 0). Fails where that
# cannot be noted.
count() {
  if (($2)); then
    noted "$1" || REPLY=0
    REPLY=$((REPLY + 1))
    note "$1" "$REPLY"
  else
    REPLY=0
    ! is_own || rm -f "$state/$1"
  fi
}
# A full disk may hold the log too: what cannot be written to it must not end this script.
say() { echo "$@" || true; }

# Prints the restarts without a later checkpoint after which the run gives up: WEFT_MAX_RESTARTS and as many as Slurm had
# begin the job again by itself, since a start that had to make way for another job has not failed.
restarts_allowed() {
  local most=${WEFT_MAX_RESTARTS:-3} by_slurm=0
  noted requeues || note requeues "${SLURM_RESTART_COUNT:-0}" || true
  ! noted requeues || by_slurm=$((${SLURM_RESTART_COUNT:-0} - REPLY))
  if ((most > 0 && by_slurm > 0)); then most=$((most + by_slurm)); fi
  echo "$most"
}

# Sets the training command from the batch script's arguments. The user's arguments come last and so take precedence.
training() {
  (($#)) || { echo "usage: sbatch ${0##*/} JOB [arguments of weft train]" >&2; exit 2; }
  local resume=()
  if noted saved && [[ " ${*:2}" != *" --resume"* ]]; then resume=(--resume must); fi
  # shellcheck disable=SC2034 # for the batch scripts
  command=("$weft" train "$1" --set "train.max_restarts=$(restarts_allowed)" "${resume[@]}" "${@:2}")
}

# run COMMAND...: sets code to the exit code of the first rank that failed, and why to its last words; or code to the
# launcher's exit code. The two differ: srun --kill-on-bad-exit returns 143 for a rank that it ended itself, and a
# rank that ends all others may be gone before srun has read its output. The first rank's words are in a folder of
# this start, which the ranks of all nodes see and no other user can write to. The file for them is made beforehand: a
# rank that finds the disk full can still say so. is_told is set if a rank has left its words. A signal to this script
# calls on_signal with the signal and the launcher's process; told_to_end is set if the signal was SIGTERM.
run() {
  local folder said pid=
  folder=$(mktemp -d "$PWD/weft-$SLURM_JOB_ID.exit.XXXXXX") || folder=
  [[ -z $folder ]] || printf '\n%.0s' {1..4200} 2>/dev/null >"$folder/code.room" || rm -f "$folder/code.room"
  export WEFT_EXIT_FILE=${folder:+$folder/code}
  told_to_end='' is_told=''
  trap 'on_signal USR1 "$pid"' USR1
  trap 'told_to_end=yes; on_signal TERM "$pid"' TERM
  "$@" &
  pid=$!
  code=0
  wait "$pid" || code=$?
  while kill -0 "$pid" 2>/dev/null; do # a signal ended the wait
    code=0
    wait "$pid" || code=$?
  done
  trap '' USR1 TERM
  why=
  if [[ -s $WEFT_EXIT_FILE ]]; then
    { read -r said || true; why=$(cat); } <"$WEFT_EXIT_FILE"
    # Only a number is accepted: in an arithmetic expression bash runs commands in the subscript of a name.
    if [[ $said =~ ^[1-9][0-9]{0,2}$ ]]; then code=$said is_told=yes; fi
  fi
  [[ -z $folder ]] || rm -rf "$folder"
}

# Slurm sends a job's signals to the tasks of srun too: this script has nothing to pass on, and must outlive the tasks.
on_signal() { echo "$(date -Is) job $SLURM_JOB_ID: SIG$1"; }

# Whether Slurm ends the job, by scancel or to make room for another job, and not because its time is over. Slurm then
# sends SIGTERM to this script too. A job that must make room soon gets SIGTERM in its tasks only, and still runs.
is_ended_by_slurm() {
  local job
  job=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null) || true
  [[ $job != *Reason=TimeLimit* ]] && [[ -n $told_to_end || $job =~ JobState=(CANCELLED|COMPLETING) ]]
}

# Ends the job, or requeues it, so that the same command resumes by itself: the job saved and stopped as requested (75),
# hung (5), found its directory held, perhaps by a node that is gone (6), lost a device or a disk (8), or was killed (more
# than 128). An error that a restart does not mend ends the job: a wrong configuration,
# bad data, divergence, restarts without progress. A job that Slurm ends is not requeued, since that would revive a job
# that the user has cancelled. What srun calls 143 is how it ended the other ranks: if no rank has said why, because the
# folder for that is full or cannot be written to, the reason may be one that no restart mends.
end() {
  local requeued='' failures unknown untold=0
  ((code != 75)) || note saved 1 || true
  count failures $((code == 8)) || true
  failures=$REPLY
  if ((code == 143)) && [[ -z $is_told ]]; then untold=1; fi
  count unknown "$untold" || REPLY=$((${SLURM_RESTART_COUNT:-0} + 1))
  unknown=$REPLY
  say "$(date -Is) job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): exit code $code${why:+: $why}"
  if ((code == 75 || code == 5 || code == 6 || code == 8 || code > 128)); then
    if is_ended_by_slurm; then
      say "Slurm ends this job: this script does not queue it again"
    elif ((failures > ${WEFT_MAX_RESTARTS:-3})); then
      say "a device or a disk has failed $failures times in a row: submit it again once that is mended"
    elif ((unknown > 2)); then
      say "no rank has said why it ended, time and again: make sure that $PWD can be written to, then submit it again"
    elif ((${SLURM_RESTART_COUNT:-0} < ${WEFT_MAX_REQUEUES:-100})); then
      requeue
    else
      say "requeued $SLURM_RESTART_COUNT times, as often as WEFT_MAX_REQUEUES allows: submit it again to resume"
    fi
  fi
  if [[ -z $requeued ]] && is_own; then rm -rf "$state"; fi
  exit "$code"
}

# Noted first, since Slurm may end this script while scontrol runs.
requeue() {
  noted requeues || REPLY=${SLURM_RESTART_COUNT:-0}
  note requeues $((REPLY + 1)) || true
  if scontrol requeue "$SLURM_JOB_ID"; then requeued=yes; else say "this script cannot requeue it: submit it again to resume"; fi
}
