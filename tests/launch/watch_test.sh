#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No silent hang: anything that kills or stops one rank of a training run ends the whole job in time, non-zero at mpirun, and
# the rank is named. usage: watch_test.sh WEFT SCRATCH CASE; CASE data makes the dataset first.
set -euo pipefail
weft=$1 scratch=$2 case=$3
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mkdir -p "$scratch" && cd "$scratch" # the dataset that CASE data made there stays
log=$case.log run=run-$case

if [[ $case == data ]]; then
  head -n 400 < <(zcat "$root/configs/sample/train.tsv.gz") >train.tsv
  cat >job.yaml <<'YAML'
task: translation
name: watch
data: {directory: data, format: tsv, train: {files: [train.tsv]}}
tokenizer: {kind: bytes, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 32, heads: 2, ffn: 64, max_length: 400, positions: sinusoidal, tying: all}
batch: {order: bucketed, tokens: 1000}
schedule: {kind: constant, learning_rate: 1e-3}
train: {max_steps: 1000000}
log: {every_steps: 1}
YAML
  "$weft" prepare job.yaml 2>/dev/null
  exit
fi
rm -rf "$run" "$log"

shown=("$log")
# start RANKS COMMAND...: starts the job in the background; its standard error is written to the log.
start() {
  mpirun --oversubscribe --bind-to none -np "$1" "${@:2}" >"$log" 2>&1 & # not on_ranks: pid must be mpirun's
  pid=$!
}
start_training() { start 2 "$weft" train job.yaml --set run_dir="$run" "$@"; }
wait_for_steps() {
  for ((i = 0; i < 600; i++)); do
    [[ -f $run/metrics.jsonl && $(wc -l <"$run/metrics.jsonl") -ge $1 ]] && return
    kill -0 $pid 2>/dev/null || fail "the job ended before step $1"
    sleep 0.1
  done
  fail "no step $1"
}
# rank_pid RANK: the process of that rank in this run.
rank_pid() {
  local ranks
  mapfile -t ranks < <(pgrep -f "(train|evaluate|prepare) job.yaml --set run_dir=$run( |\$)")
  of_rank "$1" "${ranks[@]}" || fail "no process of rank $1"
}
# ends_within SECONDS: waits for mpirun and sets code.
ends_within() {
  local began=$SECONDS
  code=0
  while kill -0 $pid 2>/dev/null; do
    ((SECONDS - began <= $1)) || { kill -KILL $pid; fail "still running after $1 s"; }
    sleep 0.1
  done
  wait $pid || code=$?
  sleep 0.2
  ! pgrep -f "(train|evaluate|prepare) job.yaml --set run_dir=$run( |\$)" >/dev/null || fail "a rank was left behind"
}
ends_with() { same "exit status of mpirun" "$1" "$code"; }
# stop_in_evaluation [ARGUMENTS]: two steps of training, then an evaluation on two ranks, of which rank 1 is stopped.
stop_in_evaluation() {
  "$weft" train job.yaml --set run_dir="$run" --set train.max_steps=2 >"$log" 2>&1
  start 2 "$weft" evaluate job.yaml --set run_dir="$run" "$@" --split train
  for ((i = 0; i < 600; i++)); do
    grep -q ' on train of ' "$log" && break
    sleep 0.1
  done
  stopped=$(rank_pid 1)
  kill -STOP "$stopped"
}

case $case in
  kill)
    start_training
    wait_for_steps 3
    kill -KILL "$(rank_pid 1)"
    ends_within 30
    matches "$log" 'rank 1 .*signal 9'
    ;;
  segv)
    start_training
    wait_for_steps 3
    kill -SEGV "$(rank_pid 0)"
    ends_within 30
    matches "$log" 'rank 0 .*signal 11'
    ;;
  stop)
    # Another rank than the stopped one reports.
    start_training --set timeouts.step_seconds=3
    wait_for_steps 3
    stopped=$(rank_pid 1)
    kill -STOP "$stopped"
    ends_within 45
    ends_with 5
    matches "$log" "error: \[rank 0 .* no progress for .* s in phase step, step [0-9]+; waiting for (all_reduce|all_gather) number [0-9]+ over (dp|world); (not arrived|arrived, but stopped in it): rank 1 \(pid $stopped, stopped by a signal" 1
    ;;
  suspend)
    # A job that is suspended as a whole for longer than its budget continues afterwards.
    start_training --set timeouts.step_seconds=8
    wait_for_steps 3
    ranks=("$(rank_pid 0)" "$(rank_pid 1)")
    kill -STOP "${ranks[@]}"
    sleep 12
    before=$(wc -l <"$run/metrics.jsonl")
    kill -CONT "${ranks[@]}"
    wait_for_steps $((before + 3))
    kill -USR1 "${ranks[0]}"
    ends_within 45
    ends_with 75
    ;;
  evaluate)
    stop_in_evaluation --set timeouts.evaluate_seconds=3 --set timeouts.init_seconds=20
    ends_within 60
    ends_with 5
    matches "$log" 'no progress for .* rank 1 \(pid' 1
    ;;
  stop-anywhere)
    # No phase gives a stopped process more time than a step does.
    stop_in_evaluation --set timeouts.evaluate_seconds=0 --set timeouts.init_seconds=0 --set timeouts.step_seconds=3
    ends_within 30
    ends_with 5
    matches "$log" "error: \[rank 0 .* a rank of this machine has not run for [0-9]+ s: rank 1 \(pid $stopped, stopped by a signal" 1
    ;;
  error)
    # One rank's dataset is cut short.
    rm -rf cut && cp -r data cut
    truncate -s -100 cut/train*.h5
    # shellcheck disable=SC2016 # the ranks' shells expand it
    start 2 bash -c 'exec "$0" train job.yaml --set run_dir="$1" --set data.directory=$([[ $OMPI_COMM_WORLD_RANK == 1 ]] && echo cut || echo data)' "$weft" "$run"
    ends_within 30
    ends_with 3
    matches "$log" '\[rank 1 .*error: .*cut/train' 1
    ;;
  prepare)
    # Rank 0 begins to send texts when it has printed its first line; rank 1 is stopped then.
    for ((i = 0; i < 500; i++)); do cat train.tsv; done >"$case.tsv"
    start 2 "$weft" prepare job.yaml --set run_dir="$run" --set data.directory="$run" --set "data.train.files=[$case.tsv]" \
      --set timeouts.step_seconds=3
    for ((i = 0; i < 600; i++)); do
      [[ -s $log ]] && break
      sleep 0.1
    done
    stopped=$(rank_pid 1)
    kill -STOP "$stopped"
    ends_within 45
    ends_with 5
    rm "$case.tsv"
    matches "$log" "a rank of this machine has not run for [0-9]+ s: rank 1 \(pid $stopped, stopped by a signal" 1
    ;;
  bench)
    # Rank 1 stops before it joins: rank 0 would wait for it in MPI_Init.
    # shellcheck disable=SC2016 # the ranks' shells expand it
    start 2 bash -c '[[ $OMPI_COMM_WORLD_RANK == 0 ]] || kill -STOP $$; exec "$0" bench-decode --no-bandwidth --set timeouts.init_seconds=4' "$weft"
    ends_within 30
    ends_with 5
    matches "$log" 'error: \[rank 0 .* no progress for [0-9]+ s in phase init' 1
    ;;
  memory)
    start_training --set checkpoint.every_steps=5
    wait_for_steps 3
    prlimit --pid "$(rank_pid 1)" --as=1000000
    ends_within 30
    # The first failed request for memory differs: weft, oneDNN, or the C++ runtime, which then aborts the rank.
    matches "$log" '\[rank 1 .*error: |rank 1 .*signal'
    ;;
  config)
    start 3 "$weft" train job.yaml --set model.heads=5
    ends_within 20
    ends_with 2
    matches "$log" 'model.heads: 5 does not divide' 1
    ;;
  arguments)
    start 3 "$weft" train job.yaml --no-such-option
    ends_within 20
    ends_with 2
    matches "$log" 'no-such-option' 1
    ;;
  copies)
    # A node's copy of the dataset is an old one: the rank there would take other batches.
    rm -rf old
    mkdir old
    head -n 300 train.tsv >old/train.tsv
    (cd old && "$weft" prepare ../job.yaml 2>/dev/null)
    # shellcheck disable=SC2016 # expands on the rank
    start 2 bash -c '((OMPI_COMM_WORLD_RANK == 0)) || cd old; exec "$@"' rank "$weft" train "$PWD/job.yaml" --set run_dir="$PWD/$run"
    ends_within 20
    ends_with 3
    matches "$log" 'data has another training text on rank 1 \([^ ]+\) than on rank 0' 1
    matches "$log" 'hint: copy one prepared dataset to every node' 1
    [[ ! -e $run/metrics.jsonl ]] || fail "it began"
    ;;
  layout)
    start 3 "$weft" train job.yaml --set run_dir="$run" --set parallel.tp=2
    ends_within 20
    ends_with 2
    matches "$log" 'parallel.tp = 2 does not divide the 3 ranks' 1
    ;;
  world)
    # A launcher starts ranks that MPI does not see.
    for variables in 'SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4' 'SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4' \
      'PMI_SIZE=4 PMI_RANK=0' 'OMPI_COMM_WORLD_SIZE=4' 'MV2_COMM_WORLD_SIZE=4'; do
      # shellcheck disable=SC2086 # several words
      env $variables "$weft" train job.yaml --set run_dir="$run" >"$log" 2>&1 &
      pid=$!
      ends_within 20
      same "exit status with $variables" 2 "$code"
      matches "$log" 'MPI sees 1 of the 4 ranks that .* started' 1
      matches "$log" 'srun --mpi=pmix'
    done
    ;;
  USR1 | TERM)
    start_training
    wait_for_steps 3
    kill -"$case" "$(rank_pid 1)"
    ends_within 45
    ends_with 75
    matches "$log" 'stopped by a signal at step' 1
    saved=("$run"/checkpoints/*)
    [[ ${#saved[@]} == 1 && -f ${saved[0]}/manifest.json ]] || fail "checkpoints: ${saved[*]}"
    ;;
  console)
    # A console that takes no more text, a full one or one that is not read, stops nothing; metrics.jsonl records it once.
    for how in full closed; do
      rm -rf "$run"
      train=("$weft" train job.yaml --set run_dir="$run" --set train.max_steps=30)
      if [[ $how == full ]]; then
        "${train[@]}" 2>/dev/full || fail "$how: exit $?"
      else
        { ended=0; "${train[@]}" 2>&1 >/dev/null || ended=$?; echo $ended >code; } | true
        for ((i = 0; i < 600; i++)); do [[ -s code ]] && break; sleep 0.1; done
        same "exit status with a console that is $how" 0 "$(<code)"
      fi
      matches "$run/metrics.jsonl" '"event":"console_lost"' 1
      [[ -f $run/checkpoints/step-00000030/manifest.json ]] || fail "$how: not trained to its end"
    done
    echo "$case: trained on"
    exit
    ;;
  blocked)
    # A terminal that takes no text (Ctrl-S) stops no training, and keeps no end away.
    on_terminal=(python3 "$root/tests/launch/stopped_terminal.py" "$weft" train job.yaml --set run_dir="$run")
    timeout -k 1 60 "${on_terminal[@]}" --set train.max_steps=30 --set timeouts.step_seconds=5 || fail "exit $?"
    [[ -f $run/checkpoints/step-00000030/manifest.json ]] || fail "not trained to its end"
    rm -rf "$run"
    code=0
    timeout -k 1 60 "${on_terminal[@]}" --set data.directory=nowhere || code=$?
    same "exit status of an error" 3 "$code"
    start 2 "${on_terminal[@]}" --set timeouts.step_seconds=3
    wait_for_steps 3
    kill -STOP "$(rank_pid 1)"
    ends_within 45
    ends_with 5
    ;;
  twice)
    start_training
    wait_for_steps 3
    # A stopped peer prevents the answer to the first signal.
    kill -STOP "$(rank_pid 0)"
    kill -USR1 "$(rank_pid 1)"
    sleep 0.5
    kill -USR1 "$(rank_pid 1)"
    ends_within 30
    ends_with $((128 + 10))
    ;;
  *) fail "no such case" ;;
esac
different "exit status of mpirun" 0 "$code"
echo "$case: exit $code"
