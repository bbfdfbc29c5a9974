#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training across hosts: two of them on one machine (hosts.sh), a rank on each, joined by TCP alone.
# usage: hosts_test.sh WEFT NETWORK_LIBRARY SCRATCH CASE; exits 77 if the user may not make hosts
set -euo pipefail
weft=$1 network=$2 scratch=$3 case=$4
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/common.sh"
source "$here/hosts.sh"
if ((EUID != 0)) || ! command -v ip >/dev/null || ! ip netns add "weft-try-$$" 2>/dev/null; then
  echo "this needs root, iproute2, and network namespaces"
  exit 77
fi
ip netns delete "weft-try-$$"
begin_in "$scratch/$case"
begin_hosts "$PWD/hosts"

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
cat >job.yaml <<'YAML'
name: hosts
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 32, heads: 2, max_length: 16}
batch: {sequences: 8}
schedule: {kind: constant}
train: {max_steps: 1000000}
checkpoint: {every_steps: 20, keep_last: 1}
log: {every_steps: 1}
timeouts: {step_seconds: 7, save_seconds: 7}
YAML
"$weft" prepare job.yaml 2>prepare.log

shown=("rank-*.log" mpirun.log)
ends_with() { same "exit status of mpirun" "$1" "$code"; }
environment=() # what mpirun gives the ranks
# start [ARGUMENTS]: starts the job across the hosts, in the background. Each rank's messages stay on its host: over a
# link that is cut they would not arrive.
start() { start_command train job.yaml --set run_dir=run "$@"; }
start_command() {
  # shellcheck disable=SC2046,SC2016 # several words; expands there
  on_host a mpirun $(host_options) -x OMP_NUM_THREADS "${environment[@]}" bash -c 'exec "$0" "$@" 2>rank-$OMPI_COMM_WORLD_RANK.log' \
    "$weft" "$@" >mpirun.log 2>&1 &
  pid=$!
}
wait_for_steps() {
  local i
  for ((i = 0; i < 900; i++)); do
    [[ -f run/metrics.jsonl && $(wc -l <run/metrics.jsonl) -ge $1 ]] && return
    kill -0 $pid 2>/dev/null || fail "the job ended before step $1"
    sleep 0.1
  done
  fail "no step $1"
}
wait_for_checkpoint() {
  local i
  for ((i = 0; i < 900; i++)); do
    compgen -G 'run/checkpoints/step-????????/manifest.json' >/dev/null && return
    kill -0 $pid 2>/dev/null || fail "the job ended before its first checkpoint"
    sleep 0.1
  done
  fail "no checkpoint"
}
# By then the hosts have sent each other the places of their ranks.
in_full_run() {
  wait_for_steps 5
  sleep 3
}
# ranks: the processes of this run; rank_pid RANK: the process of that rank.
ranks() {
  local host process
  for host in a b; do
    for process in $(ip netns pids "$prefix-$host"); do
      [[ $(readlink "/proc/$process/exe" 2>/dev/null) == "$(readlink -f "$weft")" ]] && echo "$process"
    done
  done
  return 0
}
rank_pid() {
  local processes
  mapfile -t processes < <(ranks)
  of_rank "$1" "${processes[@]}" || fail "no process of rank $1"
}
# end_mpirun: mpirun itself waits minutes for its daemon on a host that it does not reach: weft ends the ranks, the test
# ends mpirun.
end_mpirun() {
  pkill -KILL -P $pid || true
  kill -KILL $pid 2>/dev/null || true
}
# ends_within SECONDS: waits for the whole job to end; sets code.
ends_within() {
  local began=$SECONDS
  code=0
  while kill -0 $pid 2>/dev/null; do
    ((SECONDS - began <= $1)) || fail "still running after $1 s"
    sleep 0.1
  done
  wait $pid || code=$?
}
ranks_end_within() {
  local began=$SECONDS
  while [[ -n $(ranks) ]]; do
    ((SECONDS - began <= $1)) || fail "ranks still run after $1 s"
    sleep 0.1
  done
}

case $case in
  train)
    start --set train.max_steps=12
    ends_within 90
    ends_with 0
    tells "rank-0.log" "the 2 ranks are on 2 nodes, whose watchdogs meet at $net\.1:[0-9]+"
    lacks "rank-0.log" "processors of ranks differ"
    [[ -f run/checkpoints/step-00000012/manifest.json ]] || fail "nothing is saved"
    ;;
  resume)
    sums() { checksums "$1/checkpoints/step-00000400"; }
    on_ranks 2 "$weft" train job.yaml --set run_dir=straight --set train.max_steps=400 2>straight.log || fail "one machine"
    start --set train.max_steps=400
    wait_for_checkpoint
    kill -KILL "$(rank_pid 1)"
    ends_within 60
    different "exit status after a kill" 0 "$code"
    start --set train.max_steps=400
    ends_within 90
    ends_with 0
    tells "rank-0.log" 'resumed from .* at step [0-9]+ of 400'
    sums straight >straight.sums
    sums run >run.sums
    [[ -s run.sums ]] || fail "no sums"
    same_files "checksums of weights and moments" straight.sums run.sums
    ;;
  stop)
    start
    in_full_run
    stopped=$(rank_pid 1)
    kill -STOP "$stopped"
    ends_within 60
    ends_with 5
    tells "rank-0.log" "no progress for .* rank 1 \($prefix-b, pid $stopped, no message for [0-9]+ s; phase "
    ;;
  stop_first)
    start
    in_full_run
    stopped=$(rank_pid 0)
    kill -STOP "$stopped"
    ends_within 60
    ends_with 5
    tells "rank-1.log" "no progress for .* rank 0 \($prefix-a, pid $stopped, no message for [0-9]+ s; phase "
    ;;
  daemon) # Open MPI's own process on the other host
    start
    in_full_run
    for process in $(ip netns pids "$prefix-b"); do
      [[ $(cat "/proc/$process/comm" 2>/dev/null) != orted ]] || kill -KILL "$process"
    done
    ranks_end_within 60
    ends_within 60
    different "exit status without a daemon" 0 "$code"
    ;;
  cut)
    start
    in_full_run
    cut_link
    ranks_end_within 60
    tells "rank-0.log" "no progress for .* rank 1 \($prefix-b, pid [0-9]+, no message for"
    tells "rank-1.log" "no progress for .* rank 0 \($prefix-a, pid [0-9]+, no message for"
    end_mpirun
    ;;
  cut_one_way)
    start
    in_full_run
    cut_towards_a
    ranks_end_within 60
    tells "rank-0.log" "no progress for .* rank 1 \($prefix-b, pid [0-9]+, no message for"
    tells "rank-1.log" "no progress for "
    end_mpirun
    ;;
  slow) # each message leaves 20 ms late, and of three datagrams of the watchdogs one arrives: that takes time, and nothing else
    steps=(--set train.max_steps=60 --set checkpoint.every_steps=60)
    on_ranks 2 "$weft" train job.yaml --set run_dir=straight "${steps[@]}" 2>straight.log || fail "one machine"
    environment=(-x LD_PRELOAD="$network" -x WEFT_NETWORK_DELAY=20 -x WEFT_NETWORK_LOSES=3)
    began=$SECONDS
    start "${steps[@]}"
    ends_within 120
    ends_with 0
    ((SECONDS - began >= 2)) || fail "no message was late"
    checksums straight/checkpoints/step-00000060 >straight.sums
    checksums run/checkpoints/step-00000060 >run.sums
    [[ -s run.sums ]] || fail "no sums"
    same_files "checksums of weights and moments" straight.sums run.sums
    ;;
  prepare)
    # Rank 0 is stopped once all ranks are ready for texts, which this line of its log shows.
    for ((i = 0; i < 5000; i++)); do cat text.txt; done >texts.txt
    start_command prepare job.yaml --set data.directory=prepared --set 'data.train.files=[texts.txt]' --set timeouts.step_seconds=7
    for ((i = 0; i < 600; i++)); do
      grep -q 'memory: ' rank-0.log 2>/dev/null && break
      sleep 0.1
    done
    stopped=$(rank_pid 0)
    kill -STOP "$stopped"
    ends_within 60
    ends_with 5
    tells "rank-1.log" "nothing is heard of the rank that this one works for: rank 0 \($prefix-a, pid $stopped, no message for [0-9]+ s; "
    ;;
  unshared)
    mkdir run
    nsenter --target "$(cat "hosts/$prefix-b.holder")" --mount --wd="$PWD" -- mount -t tmpfs none run
    start
    ends_within 120
    ends_with 8
    tells "rank-0.log" "run is not the same directory for all ranks: what rank 0 writes there is not seen by rank 1 \($prefix-b\)"
    [[ ! -e run/metrics.jsonl ]] || fail "it began"
    ;;
  *) fail "no such case" ;;
esac
echo "$case: as expected"
