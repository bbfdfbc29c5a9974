#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft prepare on several ranks: the bytes that one rank writes, no matter which ranks encode and how often they are killed.
# usage: prepare_ranks_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"

# prepared RANKS JOB DIRECTORY [arguments]: with what it said in the file `said`.
prepared() {
  local ranks=$1 job=$2 directory=$3 status=0
  shift 3
  if ((ranks == 1)); then
    "$weft" prepare "$job" --set data.directory="$directory" "$@" >said 2>&1 || status=$?
  else
    on_ranks "$ranks" "$weft" prepare "$job" --set data.directory="$directory" "$@" >said 2>&1 || status=$?
  fi
  return "$status"
}
must() { "$@" || { echo "failed: $*"; cat said; exit 1; }; }
must_say() { says_in said "$1" || { echo "it does not say '$1':"; cat said; exit 1; }; }

# Documents of several lines, one of them of two mebibytes; a line that is no JSON, and one that is no UTF-8.
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
must prepared 1 stream.yaml alone --threads 1
for ranks in 2 3; do
  must prepared "$ranks" stream.yaml "ranks-$ranks" --threads 2
  must_say "$ranks ranks encoded [1-9][0-9]*, [1-9]"
  diff -r alone "ranks-$ranks"
done
must prepared 3 stream.yaml ranks-3
must_say "prepared already"

# Pairs: tokenizers of two sides, held-out references, what is too long.
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
must prepared 1 pairs.yaml pairs-alone
must prepared 3 pairs.yaml pairs-ranks
must_say "3 ranks encoded"
diff -r pairs-alone pairs-ranks

# An error is the same error, wherever the record was encoded: on the second of these batches, which another rank has.
{ awk 'BEGIN { for (i = 0; i < 30000; i++) print "twenty bytes of text" }'; printf 'not \377 UTF-8\n'; } >bytes.txt
sed 's/^name: .*/name: chars/; s/^data: .*/data: {directory: chars, format: text, document_delimiter: line,/
     s/^ *bad_records.*/       train: {files: [bytes.txt]}}/; s/^tokenizer: .*/data_tokenizer/' stream.yaml |
  sed "s/^data_tokenizer/tokenizer: {kind: chars, specials: [<\/s>], eos: <\/s>}/" >chars.yaml
head -30000 bytes.txt >clean.txt
must prepared 1 chars.yaml clean --set "data.train.files=[clean.txt]"
for ranks in 1 3; do
  status=0
  prepared "$ranks" chars.yaml "chars-$ranks" --set data.tokenizer_file=clean/tokenizer.json || status=$?
  ((status == 3)) || { echo "status $status of $ranks ranks"; cat said; exit 1; }
  must_say 'bytes.txt:30001.*byte 0xff is not valid UTF-8'
done

# Killed while ranks encode, and resumed on another number of them.
prepared 3 stream.yaml killed --threads 1 &
until [[ -e killed/train-00002.h5.tmp || -e killed/dataset.json ]]; do sleep 0.01; done
pkill -KILL -f "data.directory=killed" || true
wait $! || true
must prepared 2 stream.yaml killed --threads 1
diff -r alone killed
echo "prepare_ranks_test: passed"
