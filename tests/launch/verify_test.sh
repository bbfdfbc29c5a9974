#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains runs again with weft verify: a sound run is the same, one of another text is not, and no file of a run changes.
# usage: verify_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

# An epoch has fewer steps than there are up to the first save, so that each of them reads the whole text.
for ((i = 0; i < 12; ++i)); do echo "the $((i * 7919 % 100)) boats went by"; done >text
cat >job.yaml <<'YAML'
name: run
run_dir: run
data: {directory: data, document_delimiter: file, split: characters, valid_fraction: 0.125, train: {files: [text]}}
tokenizer: {kind: chars}
model: {layers: 1, width: 16, heads: 2, ffn: 16, max_length: 8, dropout: {residual: 0.1}}
batch: {sequences: 8, context_length: 8}
schedule: {kind: cosine, learning_rate: 1e-2, warmup_steps: 2}
train: {max_steps: 20}
evaluation: {every_steps: 10}
checkpoint: {every_steps: 4, keep_last: 3, keep_steps: [4], keep_best: false}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null
on_ranks 2 "$weft" train job.yaml 2>log

# Every file of the run with its checksum and time.
find run -type f -exec sha256sum {} + | sort >files
find run -printf '%p %T@\n' | sort >stamps
digests=$(sed -nE 's/.*"event":"save","step":([0-9]+),.*"digest":"([0-9a-f]+)".*/step \1: \2, as saved/p' run/metrics.jsonl)
same "saves" 5 "$(wc -l <<<"$digests")"

expect 0 'every save is the same' -- on_ranks 2 "$weft" verify run
same "from the oldest checkpoint, which is that of step 4" "$digests" "$(cat "$stdout")"
expect 0 'every save is the same' -- on_ranks 2 "$weft" verify run --from 0
same "from scratch" "$digests" "$(cat "$stdout")"
expect 0 'every save is the same' -- on_ranks 2 "$weft" verify run --from run/checkpoints/step-00000012 --to 16
same "a part" "$(sed -n 3,4p <<<"$digests")" "$(cat "$stdout")"

# Other ranks or threads have other bits: refused, with the start to repeat.
refused 2 'step 12 was trained with other numerics \(dp: 2, now 1\)' 'OMP_NUM_THREADS=1 mpirun -np 2' -- "$weft" verify run
refused 2 'threads: 1, now 2' -- env OMP_NUM_THREADS=2 mpirun --oversubscribe --bind-to none -np 2 "$weft" verify run
refused 3 'no job.yaml' -- "$weft" verify data

find run -type f -exec sha256sum {} + | sort | diff files - || fail "a file of the run has changed"
find run -printf '%p %T@\n' | sort | diff stamps - || fail "something was written into the run"

# One other character of the text: the first save tells, with the tensors of its checkpoint.
rm -r data
sed -i '3s/boats/toats/' text
"$weft" prepare job.yaml 2>/dev/null
expect 9 '  master of ' ', the first at ' -- on_ranks 2 "$weft" verify run --from 0
matches "$stdout" '^step 4: [0-9a-f]{16}, but [0-9a-f]{16} was saved$' 1
lacks "$stdout" '^step 8'
rm -r run/checkpoints/step-00000004 # then the log alone tells
expect 9 'was saved' -- on_ranks 2 "$weft" verify run --from 0
lacks "$stdout" '  master of '
refused 2 'holds another training text' -- on_ranks 2 "$weft" verify run
echo "verified, and the changed text was found"
