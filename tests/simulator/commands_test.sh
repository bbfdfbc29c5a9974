#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shipped program's commands on the simulated device and on the CPU: commands_test.sh WEFT SIMULATED
# Small models that the CPU trained until they produce text: the same perplexity to five digits, the same texts by greedy
# and by beam search; a run that resumes where the CPU left it, and the reverse; the mean of checkpoints of both.
set -euo pipefail
weft=$1 simulated=$2
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
begin_in_temporary

# on DEVICE COMMAND ...: runs the command on the device.
on() {
  local device=$1 command=$2
  shift 2
  case $command in
    train) LD_LIBRARY_PATH=$simulated "$weft" train "$@" --set device="$device" >log 2>&1 || fail "train on $device" ;;
    *) LD_LIBRARY_PATH=$simulated "$weft" "$command" "$@" --device "$device" 2>log || fail "$command on $device" ;;
  esac
}
# both WHAT COMMAND ...: for the file `input`, standard output is the same on both devices, and not empty.
input=/dev/null
both() {
  local what=$1 cpu cuda
  shift
  cpu=$(on cpu "$@" <"$input")
  cuda=$(on cuda "$@" <"$input")
  different "$what" '' "$cpu"
  same "$what" "$cpu" "$cuda"
}
perplexity() { sed -nE 's/.*"perplexity": ?([0-9.]+).*/\1/p'; }

LD_LIBRARY_PATH=$simulated "$weft" doctor >log
matches log '^CUDA .*0: simulated'
lacks log '^links' # one device has no links
# links_of DEVICES NEIGHBOURS: what doctor prints about the links between devices.
links_of() {
  LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_COUNT=$1 WEFT_CUDA_DEVICE_LINKED=$2 "$weft" doctor | sed -n 's/^links between devices *//p'
}
same "no links" "through host memory, which is slower" "$(links_of 4 1)"
[[ $(links_of 4 2) == "0-1, 2-3 directly"*"; others through"* ]] || fail "some links: $(links_of 4 2)"
[[ $(links_of 4 4) == "all directly"* ]] || fail "all links: $(links_of 4 4)"

# A device that the program has no code for is refused by name before anything is computed.
if LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_CAPABILITY=75 "$weft" bench --model gpt2-124m --set device=cuda >log 2>&1; then
  fail "a device without code was taken"
fi
matches log 'CUDA device 0 is simulated.*sm_75, and this weft is built for .*80'

# With a driver that is too old, device: cuda is refused in a sentence with both versions; device: auto takes the CPU and
# logs that sentence. The doctor has it as well.
old='the driver for CUDA 11\.8 is older than the CUDA 1[2-9]\.[0-9]+ that this weft is built with; install NVIDIA.s driver [0-9]+ or later'
old_driver() { LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_DRIVER=11080 "$weft" "$@" >log 2>&1; }
old_driver doctor
matches log "^CUDA .*driver for CUDA 11\.8; no device: $old"
if old_driver bench --model gpt2-124m --set device=cuda; then fail "a device was taken with a driver that is too old"; fi
matches log "device: cuda, but there is no CUDA device: $old"

ln -s "$root/configs" configs # the jobs name their text relative to this folder
for job in gpt translation; do
  small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set schedule.warmup_steps=10
    --set schedule.decay_end_step=300 --set evaluation.max_sequences=4 --set evaluation.every_steps=0
    --set evaluation.every_epochs=0 --set checkpoint.every_steps=0 --set checkpoint.every_epochs=0
    --set log.generations.every_steps=0 --set train.precision=fp32 --set run_dir="$job")
  if [[ $job == gpt ]]; then small+=(--set batch.sequences=4); else small+=(--set batch.tokens=600); fi
  "$weft" prepare "$root/configs/sample/$job.yaml" "${small[@]}" >/dev/null 2>&1
  on cpu train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=200
  on cuda train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=201 --set 'allow_changes=[train.max_steps]'
  matches log 'resumed from .* at step 200'
  on cpu train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=203 --set 'allow_changes=[train.max_steps]'
  matches log 'resumed from .* at step 201'
  old_driver train "$root/configs/sample/$job.yaml" "${small[@]}" --set device=auto --set train.max_steps=204 --set 'allow_changes=[train.max_steps]'
  matches log "CPU \\(no CUDA device: $old"
  "$weft" average "$job"/checkpoints/step-* --out "$job-mean" >/dev/null 2>&1
  cpu=$(on cpu evaluate --checkpoint "$job-mean" --split valid --set data.directory="corpora/prepared/sample-$job" --max-sequences 4 --json | perplexity)
  cuda=$(on cuda evaluate --checkpoint "$job-mean" --split valid --set data.directory="corpora/prepared/sample-$job" --max-sequences 4 --json | perplexity)
  awk -v a="$cpu" -v b="$cuda" 'BEGIN { exit !(a > 1 && (a - b) ^ 2 <= (1e-5 * a) ^ 2) }' ||
    fail "$job: perplexity $cuda on the device, $cpu on the CPU"
done

generate=(generate --checkpoint gpt --prompt 'The old' --prompt 'Den gamle')
both "greedy text" "${generate[@]}" --search method=greedy --max-tokens 12
both "beam search" "${generate[@]}" --beam 3 --max-tokens 12
both "sampled text" "${generate[@]}" --temperature 0.8 --seed 3 --max-tokens 12
both "text from a nucleus" "${generate[@]}" --top-p 0.9 --seed 4 --search repetition_penalty=1.2 --max-tokens 12
both "text from the most probable" "${generate[@]}" --top-k 5 --seed 5 --no-repeat-ngram 2 --max-tokens 12
both "text by int8 weights" "${generate[@]}" --search method=greedy --weights int8 --max-tokens 12
head -n 3 < <(zcat configs/sample/valid.tsv.gz) | cut -f1 >sentences
input=sentences
both "a translation" translate --checkpoint translation --beam 2 --search max_length_extra=4 --search max_length_factor=1
echo "commands on the simulated device: all as expected"
