#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The batch scripts of launch/slurm/ under a Slurm on this machine: a run that is stopped, preempted or moved off its
# node continues by itself to its end; a run that cannot succeed is given up. usage: slurm_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
((EUID == 0)) || { echo "not root: a Slurm cannot be started"; exit 77; }
for program in slurmctld slurmd sbatch munged; do
  command -v "$program" >/dev/null || { echo "no $program: tests/packages.txt names its package"; exit 77; }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export WEFT=$weft
WEFT_ROOT=$(cd "$here/../.." && pwd)
export WEFT_ROOT
# shellcheck source=tests/support/shell.sh
source "$here/../support/shell.sh"
begin_in "$scratch"
# shellcheck source=tests/slurm/cluster.sh
source "$here/cluster.sh"

shown=("$scratch/*.log" "$scratch/cluster/log/slurmctld")
trap 'fail "$BASH_COMMAND"' ERR

head -n 300 < <(zcat "$WEFT_ROOT/configs/sample/train.tsv.gz") >train.tsv
head -n 40 < <(zcat "$WEFT_ROOT/configs/sample/valid.tsv.gz") >valid.tsv
job() { # NAME STEPS
  cat >"$1.yaml" <<YAML
task: translation
name: $1
data: {directory: data, format: tsv, train: {files: [train.tsv]}, valid: {files: [valid.tsv]}}
tokenizer: {kind: bytes, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 32, heads: 2, ffn: 64, max_length: 400, positions: sinusoidal, tying: all}
batch: {order: bucketed, tokens: 1000}
schedule: {kind: constant, learning_rate: 1e-3}
train: {max_steps: $2}
log: {every_steps: 1}
allow_changes: [train.max_steps]
YAML
}
endless=1000000
job prepared 1
"$weft" prepare prepared.yaml 2>/dev/null
start_cluster "$scratch/cluster"

submit() { sbatch --parsable "$@"; }
script() { echo "$WEFT_ROOT/launch/slurm/$1.sbatch"; }
# field JOBID NAME: a field of Slurm's description of the job.
field() { scontrol -o show job "$1" | sed -nE "s/.* $2=([^ ]*).*/\1/p"; }
last_step() { tail -n 1 "runs/$1/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"step":([0-9]+).*/\1/p' | grep . || echo 0; }
starts() { grep -c '"event":"start"' "runs/$1/metrics.jsonl" 2>/dev/null || true; }
# until WHAT COMMAND...: waits until the command succeeds.
until_so() {
  local i what=$1
  shift
  for ((i = 0; i < 1500; i++)); do
    "$@" && return
    sleep 0.1
  done
  fail "in vain: $what"
}
steps_done() { (($(last_step "$1") >= $2)); }
# Slurm delays a requeued job by two minutes; a node accepts the job's new credential once the second has changed.
declare -A hurried
ended() {
  local start
  start=$1.$(field "$1" Restarts)
  if [[ $(field "$1" Reason) == BeginTime && -z ${hurried[$start]:-} ]]; then
    hurried[$start]=yes
    scontrol update jobid="$1" StartTime=now+3
  fi
  [[ $(field "$1" JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|PREEMPTED)$ ]]
}
saved() { [[ -n $(compgen -G "runs/$1/checkpoints/step-*/manifest.json") ]]; }
# A run without an end, which was told to stop, gets an end that is soon for its next start: it saves when it stops.
give_an_end() {
  until_so "$1 stops and saves" saved "$1"
  job "$1" $(($(last_step "$1") + 60))
}
# ends JOBID STATE EXIT RESTARTS [LOG-PATTERN...]: checks the job's end and its log. The last messages of ranks may be lost:
# srun ends a step, and drops what it has not passed on, with the first task that fails.
ends() {
  local id=$1 log=weft-$1.log found
  until_so "job $1 ends" ended "$1"
  found="$(field "$1" JobState) $(field "$1" ExitCode) $(field "$1" Restarts)"
  same "the end of job $1" "$2 $3 $4" "$found"
  shift 4
  for pattern in "$@"; do matches "$log" "$pattern"; done
}

# A weft that is killed after its first training step.
cat >dying-weft <<'END'
#!/usr/bin/env bash
steps() { grep -c '"event":"train"' runs/dying/metrics.jsonl 2>/dev/null; }
before=$(steps)
"$WHOLE_WEFT" "$@" &
while kill -0 $! 2>/dev/null; do
  (($(steps) > before)) && kill -KILL $!
  sleep 0.1
done
wait $!
END
chmod +x dying-weft

# These jobs run at once, as far as there is room: two nodes of two processors.
#   asked       gets a signal to stop, saves, is queued again, and continues by itself
#   preempted   makes way for another job, on a different node
#   cancelled   is cancelled by its user, saves, and is not queued again
#   broken      has a wrong configuration, on both ranks: the first exit code is 2, srun's may differ
#   dying       is killed at its first step each time
job asked $endless
job preempted $endless
job cancelled $endless
job dying $endless
asked=$(submit --nodelist=w1 "$(script one_node)" asked.yaml)
preempted=$(submit --nodelist=w2 --ntasks=2 "$(script preemptible)" preempted.yaml)
cancelled=$(submit --nodelist=w1 "$(script one_node)" cancelled.yaml)
dying=$(WHOLE_WEFT=$weft WEFT=$scratch/dying-weft WEFT_MAX_RESTARTS=1 submit --nodelist=w1 "$(script one_node)" dying.yaml)
until_so "the run to be asked trains" steps_done asked 3
until_so "the run to be preempted trains" steps_done preempted 3
until_so "the run to be cancelled trains" steps_done cancelled 3
scancel "$cancelled"
scancel --signal=USR1 "$asked"
first=$(submit --partition=high --nodelist=w2 --ntasks=2 --wrap 'sleep 1')
give_an_end asked
give_an_end preempted
broken=$(submit --ntasks=2 "$(script one_node)" asked.yaml --set model.heads=5)
ended_all() {
  local id all=0
  for id in "$@"; do ended "$id" || all=1; done
  return $all
}
until_so "all of them end" ended_all "$asked" "$preempted" "$cancelled" "$dying" "$broken" "$first"
ends "$asked" COMPLETED 0:0 1 'exit code 75' 'exit code 0'
ends "$preempted" COMPLETED 0:0 1 'start 1: exit code 75' 'resumed from runs/preempted/checkpoints/' 'start 2: exit code 0'
ends "$cancelled" CANCELLED 75:0 0 'SIGTERM' 'exit code 75' 'does not queue it again'
saved cancelled || fail "the cancelled run has not saved"
ends "$broken" FAILED 2:0 0 'exit code 2: .*heads'
ends "$dying" FAILED 7:0 2 'exit code 137' 'exit code 7: runs/dying: .*restarts'
echo "asked, preempted, cancelled, broken, dying: each as it should"

# Two nodes: one is drained, the run is asked to leave it, and continues on the other. Meanwhile the mpirun job runs.
job drained $endless
job under_mpirun $endless
drained=$(submit "$(script one_node)" drained.yaml)
until_so "the run to be driven away trains" steps_done drained 3
node=$(field "$drained" NodeList)
under_mpirun=$(submit "$(script mpirun)" under_mpirun.yaml)
until_so "the run under mpirun trains" steps_done under_mpirun 3
scontrol update nodename="$node" state=drain reason=test
scancel --signal=USR1 "$drained"
scancel --batch --signal=USR1 "$under_mpirun"
give_an_end drained
give_an_end under_mpirun
until_so "both end" ended_all "$drained" "$under_mpirun"
ends "$drained" COMPLETED 0:0 1 'exit code 75'
different "the node where it ended, which is not the one that was drained" "$node" "$(field "$drained" NodeList)"
ends "$under_mpirun" COMPLETED 0:0 1 'exit code 75' 'SIGUSR1, passed on'
scontrol update nodename="$node" state=resume
echo "drained, under mpirun: continued by themselves"

# A run on two nodes, and an array of evaluations, one more evaluation than there are checkpoints.
job two_nodes 6
two_nodes=$(submit "$(script nodes)" two_nodes.yaml --set checkpoint.every_steps=3)
ends "$two_nodes" COMPLETED 0:0 0 'done: step 6 of 6' 'each of 2 ranks'
same "nodes" 2 "$(field "$two_nodes" NumNodes)"
array=$(submit --array=0-2 "$(script evaluations)" runs/two_nodes valid)
evaluated() { [[ -z $(squeue -h -j "$array" 2>/dev/null) ]]; }
until_so "the evaluations end" evaluated
for step in 3 6; do
  [[ -s runs/two_nodes/evaluations/step-0000000$step-valid.json ]] || fail "no evaluation of step $step"
done
matches "weft-evaluate-$array-2.log" 'had 2 checkpoints without an evaluation: there is no number 2'
echo "two nodes, evaluations: done"

# A run on two nodes, one of which is drained: its job waits for another, is told to take one node, and resumes there with
# one rank. What it needs of its cluster is in a file: the program, which its environment names wrongly.
printf 'export WEFT=%q\necho "modules of %s are loaded"\n' "$weft" "$(hostname -s)" >cluster.sh
job elastic $endless
elastic=$(WEFT=/nonexistent WEFT_SETUP=cluster.sh submit "$(script nodes)" elastic.yaml)
until_so "the elastic run trains" steps_done elastic 3
scontrol update nodename=w2 state=drain reason=test
scancel --signal=USR1 "$elastic"
give_an_end elastic
waits() { [[ $(field "$elastic" JobState) == PENDING ]]; }
until_so "the elastic run is queued again" waits
scontrol update jobid="$elastic" NumNodes=1 NumTasks=1
ends "$elastic" COMPLETED 0:0 1 'exit code 75' 'each of 2 ranks' 'the rank: ' 'exit code 0' 'modules of .* are loaded'
same "node of its second start" w1 "$(field "$elastic" NodeList)"
scontrol update nodename=w2 state=resume
echo "elastic: two ranks, then one; done in $SECONDS s"
