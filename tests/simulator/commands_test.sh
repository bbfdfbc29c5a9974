#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shipped program's commands on the simulated device beside the CPU: commands_test.sh WEFT SIMULATED
# Small models that the CPU trained until they produce text: the same perplexity to five digits, the same texts by greedy and
# by beam search; a run that resumes where the CPU left it, and back again; the mean of checkpoints of both.
set -euo pipefail
weft=$1 simulated=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*"; exit 1; }
# on DEVICE COMMAND ...
on() {
  local device=$1 command=$2
  shift 2
  case $command in
    train) LD_LIBRARY_PATH=$simulated "$weft" train "$@" --set device="$device" >log 2>&1 || { cat log; fail "train on $device"; } ;;
    *) LD_LIBRARY_PATH=$simulated "$weft" "$command" "$@" --device "$device" 2>log || { cat log; fail "$command on $device"; } ;;
  esac
}
# same WHAT COMMAND ...: for the file `input`, standard output is the same on both devices, and not empty.
input=/dev/null
same() {
  local what=$1 cpu cuda
  shift
  cpu=$(on cpu "$@" <"$input")
  cuda=$(on cuda "$@" <"$input")
  [[ -n $cpu ]] || fail "$what: no output"
  [[ $cpu == "$cuda" ]] || { diff <(echo "$cpu") <(echo "$cuda") || true; fail "$what differs"; }
}
perplexity() { sed -nE 's/.*"perplexity": ?([0-9.]+).*/\1/p'; }

LD_LIBRARY_PATH=$simulated "$weft" doctor >log
grep -q '^CUDA .*0: simulated' log || { cat log; fail "weft doctor says simulated"; }
! grep -q '^links' log || fail "one device has no links"
# links_of DEVICES NEIGHBOURS: how doctor says that they reach each other.
links_of() {
  LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_COUNT=$1 WEFT_CUDA_DEVICE_LINKED=$2 "$weft" doctor | sed -n 's/^links between devices *//p'
}
[[ $(links_of 4 1) == "through host memory, which is slower" ]] || fail "no links: $(links_of 4 1)"
[[ $(links_of 4 2) == "0-1, 2-3 directly"*"; others through"* ]] || fail "some links: $(links_of 4 2)"
[[ $(links_of 4 4) == "all directly"* ]] || fail "all links: $(links_of 4 4)"

# A device that the program has no code for is refused by name before anything is computed.
if LD_LIBRARY_PATH=$simulated WEFT_CUDA_DEVICE_CAPABILITY=75 "$weft" bench --model gpt2-124m --set device=cuda >log 2>&1; then
  fail "a device without code was taken"
fi
grep -q 'CUDA device 0 is simulated.*sm_75, and this weft is built for .*80' log || { cat log; fail "sm_75 is named"; }

ln -s "$root/configs" configs # the jobs name their text from there
for job in gpt translation; do
  small=(--set model.width=32 --set model.heads=2 --set model.layers=2 --set schedule.warmup_steps=10
    --set schedule.decay_end_step=300 --set evaluation.max_sequences=4 --set evaluation.every_steps=0
    --set evaluation.every_epochs=0 --set checkpoint.every_steps=0 --set checkpoint.every_epochs=0
    --set log.generations.every_steps=0 --set train.precision=fp32 --set run_dir="$job")
  if [[ $job == gpt ]]; then small+=(--set batch.sequences=8); else small+=(--set batch.tokens=600); fi
  "$weft" prepare "$root/configs/sample/$job.yaml" "${small[@]}" >/dev/null 2>&1
  on cpu train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=200
  on cuda train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=202 --set 'allow_changes=[train.max_steps]'
  grep -q 'resumed from .* at step 200' log || { cat log; fail "$job resumes at step 200"; }
  on cpu train "$root/configs/sample/$job.yaml" "${small[@]}" --set train.max_steps=204 --set 'allow_changes=[train.max_steps]'
  grep -q 'resumed from .* at step 202' log || { cat log; fail "$job resumes at step 202"; }
  "$weft" average "$job"/checkpoints/step-* --out "$job-mean" >/dev/null 2>&1
  cpu=$(on cpu evaluate --checkpoint "$job-mean" --split valid --set data.directory="corpora/prepared/sample-$job" --max-sequences 4 --json | perplexity)
  cuda=$(on cuda evaluate --checkpoint "$job-mean" --split valid --set data.directory="corpora/prepared/sample-$job" --max-sequences 4 --json | perplexity)
  awk -v a="$cpu" -v b="$cuda" 'BEGIN { exit !(a > 1 && (a - b) ^ 2 <= (1e-5 * a) ^ 2) }' ||
    fail "$job: perplexity $cuda on the device, $cpu on the CPU"
done

generate=(generate --checkpoint gpt --prompt 'The old' --prompt 'Den gamle')
same "greedy text" "${generate[@]}" --search method=greedy --max-tokens 12
same "beam search" "${generate[@]}" --beam 3 --max-tokens 12
same "sampled text" "${generate[@]}" --temperature 0.8 --seed 3 --max-tokens 12
same "text from a nucleus" "${generate[@]}" --top-p 0.9 --seed 4 --search repetition_penalty=1.2 --max-tokens 12
same "text from the most probable" "${generate[@]}" --top-k 5 --seed 5 --no-repeat-ngram 2 --max-tokens 12
same "text by int8 weights" "${generate[@]}" --search method=greedy --weights int8 --max-tokens 12
head -n 3 < <(zcat configs/sample/valid.tsv.gz) | cut -f1 >sentences
input=sentences
same "a translation" translate --checkpoint translation --beam 2 --search max_length_extra=4 --search max_length_factor=1
echo "commands on the simulated device: all as expected"
