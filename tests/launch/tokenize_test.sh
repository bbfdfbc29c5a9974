#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft tokenize, detokenize and inspect --show, on datasets so small that every id is known.
# usage: tokenize_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
foreign=$root/tests/data/tokenizer/foreign
begin_in "$2"

# Ids of characters are ordered by code point: blank 0, a 1, b 2; then the specials. German: x 0, y 1.
printf 'ab ba\n\nab\n\nb a\n' >text.txt
cat >stream.yaml <<'END'
task: gpt
name: stream
data: {directory: stream, format: text, document_delimiter: blank_line, train: {files: [text.txt]}}
tokenizer: {kind: chars, specials: [</s>], eos: </s>}
model: {layers: 1, width: 8, heads: 1, max_length: 8}
batch: {context_length: 2, sequences: 1}
train: {max_steps: 1}
END
printf 'ab\txy\nb a\ty\n' >pairs.tsv
cat >pairs.yaml <<'END'
task: translation
name: pairs
data: {directory: pairs, format: tsv, train: {files: [pairs.tsv]}}
tokenizer: {kind: chars, specials: [</s>], eos: </s>}
target_tokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 8, heads: 1, max_length: 8}
batch: {order: bucketed, tokens: 16}
train: {max_steps: 1}
END
expect 0 -- "$weft" prepare stream.yaml
expect 0 -- "$weft" prepare pairs.yaml

tok() { "$weft" tokenize --tokenizer "$@"; }
detok() { "$weft" detokenize --tokenizer "$@"; }
same "ids" "1 2 0 2 1" "$(echo 'ab ba' | tok stream)"
same "an empty line is a record" $'1\n\n2' "$(printf 'a\n\nb\n' | tok stream)"
same "neither CR nor BOM is text" $'1\n2' "$(printf '\xef\xbb\xbfa\r\nb' | tok stream)"
same "a file of one's own" "2" "$(echo b >b.txt && tok stream/tokenizer.json b.txt)"
same "pieces" '"a" " " "b"' "$(echo 'a b' | tok stream --pieces)"
same "JSON" '{"text":"a b","ids":[1,0,2],"pieces":["a"," ","b"]}' "$(echo 'a b' | tok stream --pieces --json)"
same "unless asked for" "1 3" "$(echo 'a</s>' | tok stream --specials)"
same "the source's" "1 2" "$(echo ab | tok pairs)"
same "the target's" "0 1" "$(echo xy | tok pairs --side target)"
same "text" "ab ba" "$(echo '1 2 0 2 1' | detok stream)"
same "specials are left out" "ab" "$(echo '1 3  2' | detok stream)"
same "unless asked for" "a</s>b" "$(echo '1 3 2' | detok stream --specials)"
same "JSON" '{"ids":[1,3],"text":"a"}' "$(echo '1 3' | detok stream --json)"

refused 3 'standard input:2: tokenizer \(chars\): unknown "z" at byte 1' -- "$weft" tokenize --tokenizer stream <<<$'a\naz'
refused 3 'standard input:1: tokenizer \(chars\): unknown "<" at byte 1' -- "$weft" tokenize --tokenizer stream <<<'a</s>'
refused 3 'standard input:2:3: no token has the id 4 \(vocabulary 4\)' -- "$weft" detokenize --tokenizer stream <<<$'1\n1 4'
refused 3 'standard input:1:3: "b" is not an id' -- "$weft" detokenize --tokenizer stream <<<'1 b'
refused 3 'standard input:1:1: "99999999999" is not an id' -- "$weft" detokenize --tokenizer stream <<<'99999999999'
refused 3 'standard input:1:1: no token has the id -1' -- "$weft" detokenize --tokenizer stream <<<'-1'
refused 3 'none.txt: cannot be read' -- "$weft" tokenize --tokenizer stream none.txt
refused 3 'nowhere: no such file' -- "$weft" tokenize --tokenizer nowhere </dev/null
refused 2 'text.txt is not a tokenizer' -- "$weft" tokenize --tokenizer text.txt </dev/null
refused 3 'no committed checkpoint' -- "$weft" tokenize --tokenizer . </dev/null

# Tokenizer files of other programs.
same "tokenizer.json of tokenizers" "the old man" "$(echo 'the old man' | tok "$foreign/gpt2.json" | detok "$foreign/gpt2.json")"
same "a unigram model of tokenizers" "the old man" "$(echo '  the   old man ' | tok "$foreign/t5.json" | detok "$foreign/t5.json")"
run "$weft" doctor
if grep -q '^SentencePiece  *yes' "$stdout"; then
  same "a SentencePiece model" "the old man" "$(echo 'the old man' | tok "$foreign/unigram.model" | detok "$foreign/unigram.model")"
else
  refused 2 'built without SentencePiece .*libsentencepiece-dev' -- "$weft" tokenize --tokenizer "$foreign/unigram.model" </dev/null
fi

# Each line is answered while the input is still open.
coproc talk { "$weft" tokenize --tokenizer stream; }
# shellcheck disable=SC2154 # coproc sets talk_PID
talker=$talk_PID in=${talk[1]} out=${talk[0]}
echo ab >&"$in"
read -r -t 60 answer <&"$out"
same "the answer to the first line" "1 2" "$answer"
echo b >&"$in"
read -r -t 60 answer <&"$out"
same "the answer to the second line" "2" "$answer"
exec {in}>&-
wait "$talker"

same "documents" 'train document 1 of 3
  text     "ab</s>"
  ids      1 2 3
train document 2 of 3
  text     "b a</s>"
  ids      2 0 1 3' "$("$weft" inspect stream --show 5 --from 1)"
same "pairs, cut" 'train pair 0 of 2
  source   "ab" ... 1 more
  ids      1 2 ... 1 more
  target   "<s>x" ... 2 more
  ids      2 0 ... 2 more' "$("$weft" inspect pairs --show 1 --tokens 2)"
same "behind the end" 'train: 2 pairs, none from 9 on' "$("$weft" inspect pairs --show 1 --from 9)"
refused 2 'stream.yaml is not a prepared dataset' -- "$weft" inspect stream.yaml --show 1
refused 2 'from' -- "$weft" inspect stream --from 1
echo "tokenize: all as expected"
