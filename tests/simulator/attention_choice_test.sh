#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuDNN is optional: attention_choice_test.sh WEFT SIMULATED
# A job that asks for cuDNN's attention, on the simulated device: if cuDNN refuses, at whatever stage, and if it cannot be
# opened, one line gives the reason, weft's own kernels compute, and the losses are those of a job that asked for these kernels.
set -euo pipefail
weft=$1 simulated=$2
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
begin_in_temporary
export WEFT_CUDA_DEVICE_CUDNN=0 WEFT_CUDA_DEVICE_REFUSALS=0 # what is not chosen below is not drawn either
small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set train.max_steps=2 --set schedule.warmup_steps=1
  --set evaluation.every_steps=0 --set log.generations.every_steps=0 --set checkpoint.every_steps=0 --set log.every_steps=1
  --set evaluation.max_sequences=2 --set batch.sequences=2 --set train.precision=bf16)

# train NAME LIBRARIES ATTENTION: trains, and sets `losses`, and `said` to the messages about attention.
train() {
  LD_LIBRARY_PATH=$2 "$weft" train "$root/configs/sample/gpt.yaml" "${small[@]}" --set device=cuda --set run_dir="$1" \
    --set train.attention="$3" >log 2>&1 || fail "$1"
  losses=$(grep -oE '"(loss|grad_norm)":[^,}]*' "$1/metrics.jsonl")
  said=$(sed -nE 's/^[0-9T:Z-]+ ((warning: )?attention: .*)/\1/p' log)
  fingerprint=$(grep -ohE '"attention": ?"[^"]*"' "$1"/checkpoints/step-*/manifest.json | sort -u)
}
# falls_back NAME LIBRARIES REASON: expects weft's own kernels, their losses, and this reason.
falls_back() {
  train "$1" "$2" cudnn
  same "$1: lines about attention in: $said" 1 "$(wc -l <<<"$said")"
  [[ $said == *"attention: weft's own kernels, not cuDNN: "*"$3"* ]] || fail "$1: no reason $3 in: $said"
  same "$1: losses" "$own" "$losses"
  [[ $fingerprint == *'"weft"' ]] || fail "$1: the checkpoint says $fingerprint"
}
# falls_back_at STAGE: cuDNN is there, and refuses graphs at this stage.
falls_back_at() {
  WEFT_CUDA_DEVICE_CUDNN=$1 train "at-$1" "$simulated" cudnn
  same "$1: warnings about attention in: $said" 1 "$(grep -c '^warning:' <<<"$said")"
  [[ $said == *"warning: attention: weft's own kernels instead of cuDNN 9."* ]] || fail "$1: no reason in: $said"
  same "$1: losses" "$own" "$losses"
}

ln -s "$root/configs" configs # the jobs name their text relative to this folder
"$weft" prepare "$root/configs/sample/gpt.yaml" "${small[@]}" >/dev/null 2>&1
train own "$simulated" own
same "what is said of attention that was not asked for" '' "$said"
own=$losses
[[ $(wc -l <<<"$own") -ge 4 ]] || fail "too little to compare: $own"

if LD_LIBRARY_PATH=$simulated "$weft" doctor | grep '^cuDNN .*built without' >/dev/null; then
  falls_back without "$simulated" 'built without it'
else
  falls_back refused "$simulated" 'cuDNN is not simulated'
  # A library that cannot be opened is found first.
  mkdir broken
  cp -P "$simulated"/*.so* broken
  : >broken/libcudnn.so.9
  falls_back unopened "$PWD/broken" 'libcudnn.so.9: '
  for stage in graph engines plan execution; do falls_back_at "$stage"; done
  # Where the choice is weft's, a plan with a large workspace is not taken, and nothing is said.
  WEFT_CUDA_DEVICE_CUDNN=workspace train large "$simulated" auto
  [[ $said != *warning* ]] || fail "large: $said"
  same "large: losses" "$own" "$losses"
fi
echo "attention: weft's own where cuDNN is not"
