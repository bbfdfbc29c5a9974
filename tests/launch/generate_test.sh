#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft generate, asked on a terminal and elsewhere. usage: generate_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
typed=$root/tests/launch/typed_lines.py
begin_in "$2"

for _ in {1..30}; do printf 'the boat went by\n\n'; done >text.txt
cat >job.yaml <<'END'
name: g
run_dir: run
data: {directory: data, train: {files: [text.txt]}}
tokenizer: {kind: chars, specials: [<e>], eos: <e>}
model: {layers: 1, width: 16, heads: 2, max_length: 8}
batch: {sequences: 2}
train: {max_steps: 2}
END
expect 0 -- "$weft" prepare job.yaml
expect 0 -- "$weft" train job.yaml
generate=("$weft" generate --checkpoint run --max-tokens 20)

# A prompt that is typed gives the text of the same line of a file, and an empty one begins a document.
printf 'the b\n\nthe b\n' >prompts
expect 0 -- "${generate[@]}" --prompts prompts
cp "$stdout" from_file
different "two samples for one prompt" "$(sed -n 1p from_file)" "$(sed -n 3p from_file)"
run python3 "$typed" "${generate[@]}" <prompts
same "the exit status" 0 "$status"
same_files "texts of prompts that were typed" from_file "$stdout"
same "questions" 4 "$(grep -o '> ' "$stderr" | wc -l)"

# A prompt that cannot be continued is reported, and the next one is asked for.
run python3 "$typed" "${generate[@]}" --beam 2 --min-length 20 < <(printf 'Z\nthe boat went\nthe\n')
same "the exit status" 0 "$status"
matches "$stderr" 'unknown "Z"'
matches "$stderr" '13 tokens, the model 8 positions'
matches "$stderr" '1 text stopped early, after 6 of 20 tokens'
matches "$stdout" '^the' 1

# Candidates are asked for in the same way.
run python3 "$typed" "${generate[@]}" --candidates 1 < <(printf 'the b\nthe\n')
same "the exit status" 0 "$status"
matches "$stdout" ' %  ' 2

# Requests have ends of their own, and the texts come in their order.
printf '%s\n' '{"prompt": "the b", "stop": ["t"], "max_tokens": 7}' '{"prompt": "the"}' '{"prompt": "the b", "max_tokens": 2}' \
  >requests.jsonl
expect 0 -- "${generate[@]}" --search method=greedy --requests requests.jsonl
cp "$stdout" answers
same "answers" 3 "$(wc -l <answers)"
expect 0 -- "${generate[@]}" --search method=greedy --prompt 'the'
same "the text of the second" "{\"text\":\"$(sed 's/^the//' "$stdout" | head -n 1)\"}" "$(sed -n 2p answers)"
echo '{"stop": []}' >bad.jsonl
expect_match 3 'bad.jsonl:1: no prompt to continue' -- "${generate[@]}" --requests bad.jsonl

# How likely texts are, on one rank and on two.
printf '%s\n' '{"context": "the b", "continuation": "oat"}' '{"text": "the boat went by"}' >likely.jsonl
expect_match 0 '"tokens":3' '"tokens":16' -- "$weft" likelihood likely.jsonl --checkpoint run
cp "$stdout" alone
expect 0 -- on_ranks 2 "$weft" likelihood likely.jsonl --checkpoint run
same_files "likelihoods on two ranks" alone "$stdout"
expect_match 3 'bad.jsonl:1: no question about a likelihood' -- "$weft" likelihood bad.jsonl --checkpoint run

# Elsewhere standard input is not read, and a document is generated.
expect 0 -- "${generate[@]}" </dev/null
cp "$stdout" document
expect 0 -- "${generate[@]}" <prompts
same_files "a document" document "$stdout"
prints_no '> '
echo "generate: all as expected"
