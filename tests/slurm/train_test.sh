#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What launch/slurm/train.sh does when a run has ended, without a Slurm: srun, scontrol and weft are scripts that this
# test writes. usage: train_test.sh SCRATCH
# shellcheck disable=SC2016 # RUNS is for the weft of this test
set -euo pipefail
scratch=$1
WEFT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/support/shell.sh
source "$WEFT_ROOT/tests/support/shell.sh"
begin_in "$scratch"
mkdir bin
export WEFT_ROOT WEFT=$scratch/bin/weft SLURM_JOB_ID=1 PATH=$scratch/bin:$PATH
cat >bin/srun <<'END'
#!/usr/bin/env bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
END
cat >bin/scontrol <<'END'
#!/usr/bin/env bash
if [[ $1 == show ]]; then
  echo "JobId=$3 JobName=weft JobState=${STATE:-RUNNING} Reason=${REASON:-None}"
else
  echo "CALLED $*"
  [[ -z ${SIGNAL:-} ]] || kill "-$SIGNAL" "$PPID"
fi
END
cat >bin/mpirun <<'END'
#!/usr/bin/env bash
exec bash -c "$RUNS" mpirun "$@"
END
# A rank of a run, which does what RUNS says.
cat >bin/weft <<'END'
#!/usr/bin/env bash
eval "$RUNS"
END
chmod +x bin/*

# ends CODE CALLED [NAME=VALUE...]: expects the batch script's exit code, and whether it has its job queued again.
ends() {
  local code=0 called
  env "${@:3}" bash "$WEFT_ROOT/launch/slurm/one_node.sbatch" job.yaml >log 2>&1 || code=$?
  called=$(grep -c 'CALLED requeue 1' log || true)
  same "${*:3}: exit status, times that it is queued again" "$1, $2" "$code, $called"
}
# ends_by SIGNAL CODE CALLED [NAME=VALUE...]: expects the same of a run that ends with this code when the script is
# signalled.
ends_by() {
  local script code=0 called
  rm -f ready
  env "RUNS=trap 'exit $2' USR1; echo \$\$ >ready.tmp; mv ready.tmp ready; while :; do sleep 0.1; done" "${@:4}" \
    bash "$WEFT_ROOT/launch/slurm/one_node.sbatch" job.yaml >log 2>&1 &
  script=$!
  until [[ -e ready ]]; do sleep 0.1; done
  kill "-$1" "$script"
  until grep "SIG$1" log >/dev/null; do sleep 0.1; done
  kill -USR1 "$(<ready)"
  wait "$script" || code=$?
  called=$(grep -c 'CALLED requeue 1' log || true)
  same "$*: exit status, times that it is queued again" "$2, $3" "$code, $called"
}

# Only failures that a restart may mend are queued again, and not for ever.
for code in 5 6 8 75 137 143; do ends "$code" 1 "RUNS=exit $code"; done
for code in 0 1 2 3 4 7; do ends "$code" 0 "RUNS=exit $code"; done
ends 75 1 "RUNS=exit 75" WEFT_MAX_REQUEUES=2 SLURM_RESTART_COUNT=1
ends 75 0 "RUNS=exit 75" WEFT_MAX_REQUEUES=2 SLURM_RESTART_COUNT=2
matches log 'requeued 2 times, as often as WEFT_MAX_REQUEUES allows: submit it again to resume'
# Its last words are those of its ranks, not of its environment.
ends 5 1 "RUNS=exit 5" why=stale
matches log 'exit code 5$'

# Once a run has saved, later starts of the job must find it, unless the user says where to begin.
export ARGUMENTS='echo "$@" >arguments'
ends 75 1 "RUNS=$ARGUMENTS; exit 75"
same "the first start" 'train job.yaml --set train.max_restarts=3' "$(<arguments)"
ends 137 1 "RUNS=$ARGUMENTS; exit 137"
same "a start after a save" 'train job.yaml --set train.max_restarts=3 --resume must' "$(<arguments)"
ends 0 0 "RUNS=$ARGUMENTS; exit 0"
ends 137 1 "RUNS=$ARGUMENTS; exit 137"
same "a start before a save" 'train job.yaml --set train.max_restarts=3' "$(<arguments)"
rm -rf weft-1.state

# A device that fails again and again is not waited for without end.
for _ in 1 2 3; do ends 8 1 "RUNS=exit 8"; done
ends 8 0 "RUNS=exit 8"
matches log 'a device or a disk has failed 4 times in a row'
[[ ! -e weft-1.state ]] || fail "the folder of the job stays behind"
for _ in 1 2 3; do ends 8 1 "RUNS=exit 8"; done
ends 75 1 "RUNS=exit 75"
ends 8 1 "RUNS=exit 8"
# Nor is a folder used that is somebody else's, or a link.
rm -rf weft-1.state && mkdir elsewhere && ln -s elsewhere weft-1.state
ends 75 1 "RUNS=exit 75"
same "what is written through a link" '' "$(ls elsewhere)"
rm weft-1.state

# Starts that had to make way for another job, which ends this script, are no restarts that failed.
preempted="$ARGUMENTS; kill -KILL \$PPID; exit 137"
for count in 0 1 2 3; do ends 137 0 "RUNS=$preempted" SLURM_RESTART_COUNT=$count 2>/dev/null; done
rm -r weft-1.exit.*
ends 5 1 "RUNS=$ARGUMENTS; exit 5" SLURM_RESTART_COUNT=4
same "the fifth start" 'train job.yaml --set train.max_restarts=7' "$(<arguments)"
ends 5 1 "RUNS=$ARGUMENTS; exit 5" SLURM_RESTART_COUNT=5
same "a start that this script queued" 'train job.yaml --set train.max_restarts=7' "$(<arguments)"
ends 5 1 "RUNS=$ARGUMENTS; exit 5" SLURM_RESTART_COUNT=6
same "another start that this script queued" 'train job.yaml --set train.max_restarts=7' "$(<arguments)"
ends 0 0 "RUNS=$ARGUMENTS; exit 0" SLURM_RESTART_COUNT=7 WEFT_MAX_RESTARTS=0
same "a start without a limit" 'train job.yaml --set train.max_restarts=0' "$(<arguments)"

# If no rank says why it ended, the job is queued again twice: there may be no room for the reason. So it is where
# nothing can be noted.
for _ in 1 2; do ends 143 1 "RUNS=exit 143"; done
ends 143 0 "RUNS=exit 143"
matches log 'no rank has said why'
ends 143 1 "RUNS=exit 143"
ends 5 1 "RUNS=exit 5"
for _ in 1 2; do ends 143 1 "RUNS=exit 143"; done
for _ in 1 2 3; do ends 143 1 'RUNS=printf "143\nkilled\n" >"$WEFT_EXIT_FILE"; exit 143'; done
rm -rf weft-1.state
: >weft-1.state
printf '#!/bin/bash\nexit 1\n' >bin/mktemp
chmod +x bin/mktemp
for count in 0 1; do ends 143 1 "RUNS=exit 143" SLURM_RESTART_COUNT=$count; done
ends 143 0 "RUNS=exit 143" SLURM_RESTART_COUNT=2
ends 75 1 "RUNS=exit 75" SLURM_RESTART_COUNT=2
rm bin/mktemp weft-1.state

# The exit file has its space before the run begins.
ends 3 0 'RUNS=(($(stat -c %s "$WEFT_EXIT_FILE.room") >= 4112)) || exit 2; mv "$WEFT_EXIT_FILE.room" "$WEFT_EXIT_FILE"
  printf "3\nno space left" | dd of="$WEFT_EXIT_FILE" conv=notrunc status=none; exit 143'
matches log 'exit code 3: no space left$'

# A job that Slurm ends is not queued again; a job whose time is over is.
ends_by USR1 75 1
ends_by TERM 75 0
ends_by TERM 75 1 STATE=COMPLETING REASON=TimeLimit
ends_by USR1 0 0
ends 75 0 "RUNS=exit 75" STATE=COMPLETING
ends 75 0 "RUNS=exit 75" STATE=CANCELLED
matches log 'Slurm ends this job: this script does not queue it again'
# Once the run has ended, a signal changes nothing, and is passed on to no process that has its number now.
ends 75 1 "RUNS=exit 75" SIGNAL=USR1
matches log SIGUSR1 0

# The first rank's code counts, not the launcher's; only a number is read from the exit file, and nothing is run.
ends 2 0 'RUNS=printf "2\nno such key\n" >"$WEFT_EXIT_FILE"; exit 143'
matches log 'exit code 2: no such key'
for text in 'a[$(touch ran)]' '0x4b' '075' '1000' ''; do
  ends 3 0 "TEXT=$text" 'RUNS=echo "$TEXT" >"$WEFT_EXIT_FILE"; exit 3'
done
[[ ! -e ran ]] || fail "what an exit file says was run"

# The place of the exit file cannot be taken beforehand, is closed to other users, and does not stay.
echo precious >victim
ln -s victim weft-1.exit
ends 4 0 'RUNS=stat -c %a "$(dirname "$WEFT_EXIT_FILE")"; printf "4\n" >"$WEFT_EXIT_FILE"; exit 1'
matches log '^700$' # the mode of the folder of the exit file
[[ $(<victim) == precious && -L weft-1.exit ]] || fail "a name in the shared folder was taken for the exit file"
[[ -z $(compgen -G 'weft-1.exit.*') ]] || fail "the folder of the exit file stays behind"

# WEFT_SETUP is sourced before anything else: it may choose the program, and its variables reach the ranks. What it does
# with unset variables and failing commands is its own business, as that of `module` is.
cat >cluster.sh <<'END'
unset_variable=$NOT_SET_ANYWHERE
false
module() { export LOADED="$LOADED $2"; }
module load mpi
module load hdf5
WEFT=$PWD/bin/weft
END
ends 7 0 WEFT_SETUP=cluster.sh WEFT=/nonexistent 'RUNS=echo "loaded:$LOADED"; exit 7'
matches log '^loaded: mpi hdf5$'
ends 75 1 "WEFT_SETUP=$PWD/cluster.sh" 'RUNS=exit 75'
# evaluations.sbatch sources it too.
mkdir -p run/checkpoints/step-00000003
: >run/checkpoints/step-00000003/manifest.json
evaluate=(bash "$WEFT_ROOT/launch/slurm/evaluations.sbatch" run valid)
expect 0 'loaded: mpi hdf5' -- env SLURM_ARRAY_JOB_ID=90 SLURM_ARRAY_TASK_ID=0 WEFT_SETUP=cluster.sh WEFT=/nonexistent 'RUNS=echo "loaded:$LOADED"' "${evaluate[@]}"


# Each job of an array evaluates the checkpoint of its line, whatever retention deletes after the first one has begun.
rm -rf run
mkdir -p run/checkpoints/step-{3,6,9,12} run/checkpoints/step-9.before-2
touch run/checkpoints/step-{3,6,9,12,9.before-2}/manifest.json
# evaluates ARRAY NUMBER TEXT: expects the job to print this.
evaluates() {
  expect 0 "$3" -- env SLURM_ARRAY_JOB_ID="$1" SLURM_ARRAY_TASK_ID="$2" SLURM_JOB_ID="$1$2" \
    'RUNS=ls run/evaluations/*.tmp >>written; echo "of $3"' "${evaluate[@]}"
}
evaluates 7 0 'of run/checkpoints/step-12'
rm -r run/checkpoints/step-3
evaluates 7 2 'of run/checkpoints/step-6'
evaluates 7 1 'run/checkpoints/step-3 is not kept any more'
evaluates 7 4 'had 4 checkpoints without an evaluation: there is no number 4'
# Another array takes what is left, in files of its own.
evaluates 8 0 'of run/checkpoints/step-9'
# A job that is queued again after its evaluation does not repeat it.
expect 0 -- env SLURM_ARRAY_JOB_ID=8 SLURM_ARRAY_TASK_ID=0 SLURM_JOB_ID=81 RUNS='echo again' "${evaluate[@]}"
prints_no again
# An evaluation that fails leaves no result, and says so by its exit status.
mkdir run/checkpoints/step-15
touch run/checkpoints/step-15/manifest.json
expect 3 -- env SLURM_ARRAY_JOB_ID=9 SLURM_ARRAY_TASK_ID=0 SLURM_JOB_ID=90 RUNS='echo half; exit 3' "${evaluate[@]}"
[[ ! -e run/evaluations/step-15-valid.json ]] || fail "half an evaluation is taken for a whole one"
rm run/evaluations/*.tmp
refused 2 '^usage: sbatch --array' -- "${evaluate[@]:0:3}"
same "what two arrays write to" '70 72 80' "$(sed -n 's/.*json\.\([0-9]*\)\.tmp/\1/p' written | tr '\n' ' ' | sed 's/ $//')"
same "what stays of that" '' "$(compgen -G 'run/evaluations/*.tmp')"

# A file that is missing, or that fails, is one line, and the job ends before it trains.
for script in one_node nodes preemptible mpirun; do
  refused 2 '^WEFT_SETUP=./none.sh: there is no such file on .*; correct the path or unset WEFT_SETUP $' -- \
    env WEFT_SETUP=none.sh 'RUNS=echo trained' bash "$WEFT_ROOT/launch/slurm/$script.sbatch" job.yaml
  same "$script: what a run without its setup prints" '' "$(<"$stdout")"
done
printf 'module() { return 1; }\nmodule load nothing\n' >broken.sh
refused 2 'WEFT_SETUP=./broken.sh: its last command failed with status 1; run it by hand' -- \
  env WEFT_SETUP=./broken.sh 'RUNS=echo trained' bash "$WEFT_ROOT/launch/slurm/one_node.sbatch" job.yaml
same "what a run with a broken setup prints" '' "$(<"$stdout")"

# ends_with SCRIPT ARGUMENTS [NAME=VALUE...]: expects the arguments that the script's launcher gets, and that a run that
# saves and stops is queued again.
ends_with() {
  local code=0
  rm -rf weft-1.state
  env 'RUNS=echo "$@" >arguments; exit 75' "${@:3}" bash "$WEFT_ROOT/launch/slurm/$1.sbatch" job.yaml --set a=b >log 2>&1 || code=$?
  same "$1: exit status" 75 "$code"
  matches log 'CALLED requeue 1'
  same "$1: arguments" "$2" "$(<arguments)"
}
printf '#!/usr/bin/env bash\nexec bash -c "$RUNS" srun "$@"\n' >bin/srun
limit='--set train.max_restarts=3'
ranks="--mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=3 $WEFT train job.yaml $limit"
ends_with one_node "$ranks --set a=b" SLURM_CPUS_PER_TASK=3
ends_with nodes "--nodes=2 --ntasks=8 $ranks --set a=b" SLURM_CPUS_PER_TASK=3 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS_PER_NODE=4
ends_with preemptible "$ranks --set checkpoint.every_minutes=10 --set a=b" SLURM_CPUS_PER_TASK=3
ends_with preemptible "${ranks/pmix/pmi2} --set checkpoint.every_minutes=2.5 --set a=b" SLURM_CPUS_PER_TASK=3 \
  WEFT_SRUN_MPI=pmi2 WEFT_CHECKPOINT_MINUTES=2.5
ends_with mpirun "-np 4 --bind-to none $WEFT train job.yaml $limit --set a=b" SLURM_NTASKS=4
# A rank has as many threads as its task has processors, unless it is told otherwise.
ends_with one_node 3 SLURM_CPUS_PER_TASK=3 'RUNS=echo "$OMP_NUM_THREADS" >arguments; exit 75'
ends_with one_node 2 SLURM_CPUS_PER_TASK=3 OMP_NUM_THREADS=2 'RUNS=echo "$OMP_NUM_THREADS" >arguments; exit 75'

# mpirun does not get the signal that Slurm sends to the script: the script passes it on.
rm -f ready
env 'RUNS=trap "exit 75" USR1; : >ready; while :; do sleep 0.1; done' SLURM_NTASKS=4 \
  bash "$WEFT_ROOT/launch/slurm/mpirun.sbatch" job.yaml >log 2>&1 &
until [[ -e ready ]]; do sleep 0.1; done
kill -USR1 $!
code=0
wait $! || code=$?
same "mpirun: exit status of a run that is signalled" 75 "$code"
matches log 'SIGUSR1, passed on to mpirun'
matches log 'CALLED requeue 1'

# Where a script cannot continue it ends, and trains nothing: with no job, without the scripts beside it, without Slurm.
for script in one_node nodes mpirun; do
  refused 2 "^usage: sbatch $script.sbatch JOB" -- bash "$WEFT_ROOT/launch/slurm/$script.sbatch"
done
for script in one_node nodes preemptible mpirun; do
  refused 1 '/nonexistent/launch/slurm/train.sh: No such file' -- \
    env WEFT_ROOT=/nonexistent bash "$WEFT_ROOT/launch/slurm/$script.sbatch" job.yaml
  same "$script: what it says without the scripts beside it" 1 "$(wc -l <"$stderr")"
done
refused 1 'SLURM_JOB_ID: unbound variable' -- \
  env -u SLURM_JOB_ID WEFT_SETUP=cluster.sh 'RUNS=echo trained' bash "$WEFT_ROOT/launch/slurm/one_node.sbatch" job.yaml
echo "train.sh: as it should"
