#!/usr/bin/env bash
# The batch scripts of launch/slurm/ under a Slurm of this machine's own: a run that is stopped, preempted or driven off
# its node goes on by itself to its end; one that cannot succeed is given up. usage: slurm_test.sh WEFT SCRATCH
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
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch"
# shellcheck source=tests/slurm/cluster.sh
source "$here/cluster.sh"

fail() {
  trap - ERR
  echo "slurm_test: $*" >&2
  local log
  for log in "$scratch"/*.log "$scratch"/cluster/log/slurmctld; do
    [[ -f $log ]] || continue
    echo "== $log" >&2
    tail -n 30 "$log" >&2
  done
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

"$weft" sample corpus 2>/dev/null
head -n 300 corpus/train.tsv >train.tsv
head -n 40 corpus/valid.tsv >valid.tsv
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
# field JOBID NAME: of what Slurm knows about the job.
field() { scontrol -o show job "$1" | sed -nE "s/.* $2=([^ ]*).*/\1/p"; }
last_step() { tail -n 1 "runs/$1/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"step":([0-9]+).*/\1/p' | grep . || echo 0; }
starts() { grep -c '"event":"start"' "runs/$1/metrics.jsonl" 2>/dev/null || true; }
# until WHAT COMMAND...: waits until the command succeeds.
until_so() {
  local i what=$1
  shift
  for ((i = 0; i < 600; i++)); do
    "$@" && return
    sleep 0.1
  done
  fail "in vain: $what"
}
steps_done() { (($(last_step "$1") >= $2)); }
# A requeued job would wait for two minutes; a node takes its credential as soon as the second is another one.
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
# A run without an end gets one: soon, and after what is about to happen to it.
give_an_end() { job "$1" $(($(last_step "$1") + ${2:-60})); }
# ends JOBID STATE EXIT RESTARTS [LOG-PATTERN...]
ends() {
  local id=$1 log=weft-$1.log found
  until_so "job $1 ends" ended "$1"
  found="$(field "$1" JobState) $(field "$1" ExitCode) $(field "$1" Restarts)"
  [[ $found == "$2 $3 $4" ]] || fail "job $1 ended as $found, not as $2 $3 $4"
  shift 4
  for pattern in "$@"; do grep -qE "$pattern" "$log" || fail "$log does not say: $pattern"; done
}

# Asked to stop, it saves, is queued again, and goes on by itself.
job asked $endless
asked=$(submit "$(script one_node)" asked.yaml)
# In a queue that others take precedence over; on a node of its own.
job preempted $endless
preempted=$(submit --nodelist=w2 --ntasks=2 "$(script preemptible)" preempted.yaml)
until_so "the run to be asked trains" steps_done asked 3
until_so "the run to be preempted trains" steps_done preempted 3
give_an_end asked
give_an_end preempted
scancel --signal=USR1 "$asked"
first=$(submit --partition=high --nodelist=w2 --ntasks=2 --wrap 'sleep 1')
ends "$asked" COMPLETED 0:0 1 'stopped by a signal at step' 'exit code 75' '(done|nothing to do): step'
ends "$first" COMPLETED 0:0 0 2>/dev/null
ends "$preempted" COMPLETED 0:0 1 'stopped by a signal at step' '(done|nothing to do): step'
[[ $(starts asked) -le 2 ]] || fail "asked began $(starts asked) times"
echo "asked, preempted: went on by themselves"
