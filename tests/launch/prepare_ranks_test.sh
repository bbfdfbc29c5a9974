#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft prepare on several ranks writes the bytes that one rank writes, no matter which ranks encode and how often they are killed.
# usage: prepare_ranks_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"

# prepare RANKS JOB DIRECTORY [arguments]: prepares the job's dataset on RANKS ranks.
prepare() {
  local command=("$weft" prepare "$2" --set data.directory="$3" "${@:4}")
  (($1 == 1)) || command=(on_ranks "$1" "${command[@]}")
  "${command[@]}"
}

# Documents of several lines, one of them of two mebibytes; a line that is not JSON, and a line that is not UTF-8.
awk 'BEGIN {
  srand(1)
  for (i = 0; i < 12000; i++) {
    words = i == 600 ? 220000 : 20 + int(rand() * 80)
    printf "{\"text\": \""
    for (w = 0; w < words; w++) printf "%sw%d\303\251", w % 12 == 11 ? "\\n" : " ", rand() * rand() * 3000
    print "\"}"
    if (i % 5000 == 4000) print "{\"text\": "
  }
}' >documents.jsonl
cat >stream.yaml <<'END'
task: gpt
name: stream
data: {directory: stream, format: jsonl, train: {files: [documents.jsonl]}, split: hash, valid_fraction: 0.05,
       bad_records: skip, duplicates: count, shard_tokens: 200000}
tokenizer: {kind: bpe, vocabulary: 600, specials: [</s>], eos: </s>}
model: {layers: 1, width: 8, heads: 1, max_length: 8}
batch: {context_length: 2, sequences: 1}
train: {max_steps: 1}
END
expect 0 -- prepare 1 stream.yaml alone --threads 1
for ranks in 2 3; do
  refused 0 "$ranks ranks encoded [1-9][0-9]*, [1-9]" -- prepare "$ranks" stream.yaml "ranks-$ranks" --threads 2
  same_files "the dataset of $ranks ranks" alone "ranks-$ranks"
done
refused 0 "prepared already" -- prepare 3 stream.yaml ranks-3

# Pairs: tokenizers of two sides, held-out references, pairs that are too long.
awk 'BEGIN {
  srand(2)
  for (i = 0; i < 60000; i++) {
    source = target = ""
    for (w = int(rand() * 12); w >= 0; w--) { source = source " s" int(rand() * 900); target = target " t" int(rand() * 700) }
    print source "\t" target
  }
}' >pairs.tsv
cat >pairs.yaml <<'END'
task: translation
name: pairs
data: {directory: pairs, format: tsv, train: {files: [pairs.tsv]}, split: hash, valid_fraction: 0.02,
       test_fraction: 0.02, max_source_tokens: 24, max_target_tokens: 24}
tokenizer: {kind: bpe, vocabulary: 500, specials: [</s>], eos: </s>}
target_tokenizer: {kind: words, min_frequency: 2, specials: [<s>, </s>, <unk>], bos: <s>, eos: </s>, unk: <unk>}
model: {encoder_layers: 1, layers: 1, width: 8, heads: 1, max_length: 32}
batch: {order: bucketed, tokens: 64}
train: {max_steps: 1}
END
expect 0 -- prepare 1 pairs.yaml pairs-alone
refused 0 "3 ranks encoded" -- prepare 3 pairs.yaml pairs-ranks
same_files "the pairs of three ranks" pairs-alone pairs-ranks

# An error is the same wherever the record was encoded: here in the second batch, which another rank has.
{ awk 'BEGIN { for (i = 0; i < 30000; i++) print "twenty bytes of text" }'; printf 'not \377 UTF-8\n'; } >bytes.txt
sed 's/^name: .*/name: chars/; s/^data: .*/data: {directory: chars, format: text, document_delimiter: line,/
     s/^ *bad_records.*/       train: {files: [bytes.txt]}}/; s/^tokenizer: .*/data_tokenizer/' stream.yaml |
  sed "s/^data_tokenizer/tokenizer: {kind: chars, specials: [<\/s>], eos: <\/s>}/" >chars.yaml
head -30000 bytes.txt >clean.txt
expect 0 -- prepare 1 chars.yaml clean --set "data.train.files=[clean.txt]"
for ranks in 1 3; do
  refused 3 'bytes.txt:30001.*byte 0xff is not valid UTF-8' -- \
    prepare "$ranks" chars.yaml "chars-$ranks" --set data.tokenizer_file=clean/tokenizer.json
done

# A preparation that is killed while ranks encode is resumed on another number of ranks.
prepare 3 stream.yaml killed --threads 1 >log 2>&1 &
until [[ -e killed/.weft-preparation/train-00002.h5.tmp || -e killed/dataset.json ]]; do sleep 0.01; done
pkill -KILL -f "data.directory=killed" || true
wait $! || true
expect 0 -- prepare 2 stream.yaml killed --threads 1
same_files "the dataset that was killed" alone killed
echo "prepare_ranks_test: passed"
