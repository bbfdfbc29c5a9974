#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small model learns to answer conversations, and weft chat talks with it: typed, from a pipe, from a file.
# usage: chat_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
typed=$root/tests/launch/typed_lines.py
begin_in "$2"

# What a letter is answered with, whatever was said before.
for first in a b c d; do
  for second in a b c d; do
    printf '{"messages": [{"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s%s"}, ' \
      "$first" "$first" "$first"
    printf '{"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s%s"}]}\n' "$second" "$second" "$second"
  done
done >chats.jsonl
cat >job.yaml <<'END'
name: echo
run_dir: run
seed: 3
data:
  directory: data
  format: messages
  train: {files: [chats.jsonl]}
  chat: {template: own, user_form: "<u>{text}", assistant_form: "<a>{text}<e>"}
tokenizer: {kind: chars, specials: [<u>, <a>, <e>], eos: <e>}
model: {layers: 2, width: 32, heads: 2, max_length: 24}
batch: {sequences: 16}
schedule: {learning_rate: 1e-2, warmup_steps: 10}
train: {max_steps: 150}
END
expect 0 -- "$weft" prepare job.yaml
expect_match 0 'context  "<u>a<a>"' 'learnt   "aa<e>"' -- "$weft" inspect data --show 1
expect 0 -- on_ranks 2 "$weft" train job.yaml
chat=("$weft" chat --checkpoint run --beam 1)

printf 'b\nd\n/new\na\n' >lines
printf 'bb\ndd\naa\n' >answers
expect 0 -- "${chat[@]}" <lines
same_files "answers to lines" answers "$stdout"
run python3 "$typed" "${chat[@]}" <lines
same "the exit status" 0 "$status"
same_files "answers to what is typed" answers "$stdout"

# Three questions fill the 24 positions: the first is forgotten, and said to be.
printf 'a\nb\nc\nd\na\nb\n' >lines
printf 'aa\nbb\ncc\ndd\naa\nbb\n' >answers
expect 0 -- "${chat[@]}" <lines
same_files "answers of a long conversation" answers "$stdout"
matches "$stderr" '2 messages forgotten: the model has no positions for more'

# The answers of a file are conversations again.
head -n 2 chats.jsonl >wanted
sed 's/, {"role": "assistant", "content": "[ab]*"}\]}$/]}/' wanted >questions.jsonl
expect 0 -- "${chat[@]}" --messages questions.jsonl
python3 - wanted "$stdout" <<'PYTHON'
import json, sys
wanted, found = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
assert wanted == found, (wanted, found)
PYTHON

# What is too long, and what is no conversation, is named.
expect_match 3 'message has 31 tokens .*the model 24 positions' -- "${chat[@]}" < <(printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n')
echo '{"messages": []}' >bad.jsonl
expect_match 3 'bad.jsonl:1: "messages" has no message' -- "${chat[@]}" --messages bad.jsonl
expect_match 2 'needs the special "<|im_start|>"' -- "${chat[@]}" --template chatml
expect_match 2 'one answer, not 2' -- "$weft" chat --checkpoint run --n-best 2
for _ in {1..40}; do echo '{"text": "abcd abcd abcd abcd abcd"}'; done >text.jsonl
sed 's/format: messages/format: jsonl/; /chat:/d; s/chats.jsonl/text.jsonl/; s/run_dir: run/run_dir: text/
  s/directory: data/directory: text-data/; s/max_steps: 150/max_steps: 20/' job.yaml >text.yaml
expect 0 -- "$weft" prepare text.yaml
expect 0 -- "$weft" train text.yaml
expect_match 2 'was not trained on conversations' -- "$weft" chat --checkpoint text
echo "chat: all as expected"
