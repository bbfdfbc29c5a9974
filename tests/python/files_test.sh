#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python/weft.py reads what weft has written: datasets, a run of two ranks that was killed, and the golden files. files_test.py
# compares them with what weft says of them, in a folder that this script fills.
# usage: files_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
for python in python3 /usr/bin/python3 none; do  # Debian's packages are its own python's
  "$python" -c 'import numpy, xxhash' 2>/dev/null && break
done
[[ $python != none ]] || exit 77
begin_in "$scratch"

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
for i in $(seq 40); do printf 'one boat %d\ten båt %d\n' "$i" "$i"; done >train.tsv
printf 'two boats\tto båter\n\tingen\n' >valid.tsv
cat >own.yaml <<'YAML'
name: own
data: {directory: prepared/own, document_delimiter: line, shard_tokens: 500, train: {files: [text.txt]}, split: records, valid_fraction: 0.1}
tokenizer: {kind: bpe, vocabulary: 270, specials: [<e>], eos: <e>}
model: {layers: 2, width: 32, heads: 2, max_length: 16}
batch: {sequences: 4}
parallel: {zero_stage: 2}
train: {max_steps: 9}
evaluation: {every_steps: 3, max_sequences: 20}
checkpoint: {every_steps: 3, keep_last: 5}
log: {every_steps: 1}
YAML
cat >en-no.yaml <<'YAML'
task: translation
data: {directory: prepared/en-no, format: tsv, train: {files: [train.tsv]}, valid: {files: [valid.tsv]}}
tokenizer: {kind: bpe, vocabulary: 300, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 32, heads: 2, max_length: 64}
batch: {tokens: 400}
YAML
printf '{"messages": [{"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s"}]}\n' a bc de f >chats.jsonl
cat >chats.yaml <<'YAML'
data: {directory: prepared/chats, format: messages, train: {files: [chats.jsonl]},
       chat: {template: own, user_form: "u{text}", assistant_form: "a{text}<e>\n"}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
YAML
{
  for job in own chats en-no; do "$weft" prepare $job.yaml; done
  on_ranks 2 "$weft" train own.yaml
  on_ranks 2 "$weft" train own.yaml --resume runs/own/checkpoints/step-00000003  # steps 4 to 9 once more
  "$weft" export-hf runs/own exported
} 2>log
"$weft" tokenize --tokenizer prepared/own text.txt >ids
PYTHONPATH=$root/python "$python" -B "$root/tests/python/files_test.py" "$root"
