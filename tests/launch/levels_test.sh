#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The levels of x86-64 under mpirun: ranks whose processors differ compute at the weakest one's, with the bits of ranks
# that a key holds to that level; what cannot be is refused. usage: levels_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1") scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

# "processor level   v4-bf16 (compiled for v4 alone)": what this processor has, and what this program can do.
doctor=$("$weft" doctor | grep '^processor level ')
level=$(sed -nE 's/^processor level +([^ ]+) .*/\1/p' <<<"$doctor")
mapfile -t names < <("$weft" keys cpu_level | sed -nE 's/.*\(one of (.*), or null\)$/\1/p' | sed 's/, /\n/g')
possible=()
for name in "${names[@]}"; do
  # A program compiled for one processor can do no less than that one.
  if [[ $doctor == *"compiled for $name alone"* ]]; then possible=(); fi
  possible+=("$name")
  [[ $name != "$level" ]] || break
done
lowest=${possible[0]}

refused 2 'WEFT_CPU_LEVEL=v9: this is no level' 'v2, v3, v4, v4-bf16, v4-amx' -- env WEFT_CPU_LEVEL=v9 "$weft" doctor
expect_match 0 "^processor level +$lowest " -- env WEFT_CPU_LEVEL="$lowest" "$weft" doctor

ln -s "$root/configs/sample" corpus
cat >job.yaml <<'YAML'
task: gpt
name: levels
device: cpu
data: {directory: data, document_delimiter: blank_line, train: {files: [corpus/text.txt.gz]}, split: hash, valid_fraction: 0.05}
tokenizer: {kind: bytes, specials: [<s>], bos: <s>, eos: <s>}
model: {layers: 1, width: 64, heads: 2, ffn: 128, max_length: 64}
batch: {context_length: 64, sequences: 8}
schedule: {learning_rate: 1e-3}
train: {max_steps: 6, precision: bf16}
checkpoint: {every_steps: 6}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml >log 2>&1 || fail "prepare"
train() { "$weft" train job.yaml "$@"; }

refused 2 'cpu_level' 'one of v2, v3, v4, v4-bf16, v4-amx' -- train --set cpu_level=v9
if [[ $level != v4-amx ]]; then
  refused 2 "cpu_level on .*: v4-amx is more than the processor here has, which is $level" -- train --set cpu_level=v4-amx
fi
if [[ $lowest != v2 ]]; then
  refused 2 'cpu_level on .*: v2 is less than this weft needs' 'WEFT_NATIVE=OFF' -- train --set cpu_level=v2
fi

# Beside the steps, a measurement computes in a context of its own.
expect 0 'steps after' -- "$weft" bench job.yaml --steps 2 --set cpu_level="$lowest"

# Losses at each level that this program and this processor have.
losses() { sed -nE 's/.*"event":"train","step":([0-9]+),.*"loss":([0-9.e+-]+),.*/\1 \2/p' "$1/metrics.jsonl"; }
for name in "${possible[@]}"; do
  on_ranks 2 "$weft" train job.yaml --set cpu_level="$name" --set run_dir="at-$name" >log 2>&1 || fail "at $name"
  contains "the fingerprint at $name" "$("$weft" inspect "at-$name/checkpoints/step-00000006")" "\"cpu_level\":\"$name\""
  same "steps at $name" 6 "$(losses "at-$name" | wc -l)"
done

# Two ranks, the second of which has less.
if ((${#possible[@]} > 1)); then
  mpirun --oversubscribe --bind-to none -np 1 "$weft" train job.yaml --set run_dir=mixed : \
    -np 1 env WEFT_CPU_LEVEL="$lowest" "$weft" train job.yaml --set run_dir=mixed >log 2>&1 || fail "two kinds of ranks"
  tells log "processors of ranks differ: all compute at $lowest, which the weakest has, though others have $level"
  same "losses of ranks that differ" "$(losses "at-$lowest")" "$(losses mixed)"
  same "weights of ranks that differ" "$(checksums "at-$lowest/checkpoints/step-00000006")" \
    "$(checksums mixed/checkpoints/step-00000006)"

  # On resume a run tells that its level has changed.
  train --resume at-"$lowest"/checkpoints/step-00000006 --set run_dir=resumed --set train.max_steps=7 \
    --set 'allow_changes=[train.max_steps]' >log 2>&1 || fail "resume"
  tells log "cpu_level: $lowest, now $level"
fi
echo "levels: ${possible[*]}"
