#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank of several on simulated devices stops, dies or fails within a collective: the job ends within its budget,
# and reports the rank, device and collective.
# usage: failures_test.sh WEFT SIMULATED SCRATCH stop|stop_tp|kill|fail
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_COUNT=2
export WEFT_CUDA_DEVICE_PATIENCE=600 # otherwise the simulator would report the deadlock first
job=$root/configs/sample/translation.yaml
small=(--set model.width=32 --set model.heads=2 --set model.layers=1 --set model.ffn=64 --set batch.tokens=200
  --set evaluation.every_steps=0 --set evaluation.every_epochs=0 --set checkpoint.every_epochs=0
  --set checkpoint.every_steps=0 --set log.generations.every_steps=0 --set log.every_steps=1
  --set train.max_steps=1000000 --set device=cuda --set timeouts.step_seconds=30 --set timeouts.init_seconds=200)
# ends_after FAULT=N RUN SETTING...: two ranks train in RUN until rank 1's N-th collective. Sets code.
ends_after() {
  local fault=$1 run=$2 sets=() began=$SECONDS
  for setting in "${@:3}"; do sets+=(--set "$setting"); done
  # shellcheck disable=SC2016 # the ranks' shells expand it
  local only_rank_1='[[ $OMPI_COMM_WORLD_RANK == 1 ]] && export "$0"; exec "$@"'
  code=0
  on_ranks 2 bash -c "$only_rank_1" "WEFT_CUDA_DEVICE_$fault" "$weft" train "$job" "${small[@]}" \
    --set run_dir="$run" "${sets[@]}" >log 2>&1 || code=$?
  # The time for the start, the step's budget, the release of the devices, and a busy machine.
  ((SECONDS - began <= 240)) || fail "$run: it took $((SECONDS - began)) s"
  different "$run: exit status of the job" 0 "$code"
  matches "$run/metrics.jsonl" '"event":"train","step":2,'
}
rank_1='rank 1 \(cuda:1, pid [0-9]+, '
collective='all_reduce number [0-9]+ over dp \(gradient bucket [0-9]+, [0-9]+ bytes\)'

ln -s "$root/configs" configs # the jobs name their text relative to this folder
"$weft" prepare "$job" "${small[@]}" >/dev/null 2>&1

case $4 in
  stop) # only rank 0's watchdog can report: it sees what rank 0's device waits for
    ends_after STOP_COLLECTIVE=30 stopped
    same "exit status with a rank that stops" 5 "$code"
    tells log "\[rank 0 [^ ]+ cuda:0 pid [0-9]+\] no progress for [0-9]+ s in phase step, step [0-9]+; waiting for its device, which is at $collective [^;]*; arrived, but stopped in it: ${rank_1}stopped by a signal"
    ;;
  stop_tp) # a device that hangs in a collective of tensor parallelism, which has no name
    ends_after STOP_COLLECTIVE=200 stopped-tp parallel.tp=2
    same "exit status with a rank that stops" 5 "$code"
    tells log "waiting for its device, which is at [a-z_]+ number [0-9]+ over tp \([0-9]+ bytes\)[^;]*; arrived, but stopped in it: ${rank_1}stopped"
    ;;
  kill) # NCCL reports the failure to rank 0 at once. mpirun also notices it, and leaves rank 0 the time for its message
    OMPI_MCA_odls_base_sigkill_timeout=20 ends_after KILL_COLLECTIVE=30 killed timeouts.step_seconds=1000
    tells log "rank 0 \([^ ]+, cuda:0\): NCCL over dp has failed in $collective: remote process exited.*arrived, but stopped in it: ${rank_1}dead"
    ;;
  fail) # the failed rank reports the failure, not the rank that waits for it
    ends_after FAIL_COLLECTIVE=30 failed timeouts.step_seconds=1000
    same "exit status with a rank whose NCCL fails" 8 "$code"
    tells log "\[rank 1 [^ ]+\] error: rank 1 \([^ ]+, cuda:1\): NCCL over dp has failed in $collective: unhandled system error: rank 0 \(process"
    ;;
  *) fail "there is no fault $4" ;;
esac
