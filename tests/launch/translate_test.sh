#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft translate and weft rescore as streams: line n of the output belongs to line n of the input, on any number of ranks.
# usage: translate_test.sh WEFT SCRATCH
set -euo pipefail
export LC_ALL=C  # the translations here may be any bytes
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"
shown=(err)

for i in {1..40}; do printf 'ab %d\tb a\n' "$i"; done >train.tsv
cat >job.yaml <<'END'
name: t
task: translation
run_dir: run
data: {directory: data, format: tsv, train: {files: [train.tsv]}}
tokenizer: {kind: bytes, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 24}
batch: {sequences: 4}
train: {max_steps: 2}
END
"$weft" prepare job.yaml 2>/dev/null
"$weft" train job.yaml 2>/dev/null
translate=("$weft" translate --checkpoint run)
sample=(--temperature 1 --seed 4 --search max_length_extra=8)

# An untrained model writes any byte, line ends too: each input line still gives one output line.
for i in {1..60}; do echo "ab $i"; done >lines
"${translate[@]}" lines "${sample[@]}" >alone 2>err
same "lines of output" 60 "$(wc -l <alone)"
"${translate[@]}" lines "${sample[@]}" --json >objects 2>err
matches objects '"text":"[^"]*\\[nr]' # a line end, without which nothing is tested
same "index of the last" 59 "$(tail -1 objects | sed -E 's/.*"index":([0-9]+).*/\1/')"

# Batches, replicas, compression and a pipe as input change nothing; an error's line number is that of its file.
"${translate[@]}" "${sample[@]}" --batch-lines 7 <lines 2>err >batches
same_files "texts by other batches" alone batches
gzip -k lines
"${translate[@]}" lines.gz "${sample[@]}" 2>err >unpacked
same_files "texts of a compressed file" alone unpacked
on_ranks 2 "${translate[@]}" lines "${sample[@]}" --batch-lines 5 2>err >shared
same_files "texts of two ranks" alone shared
{ printf '\xef\xbb\xbf'; sed 's/$/\r/' lines; } | "${translate[@]}" "${sample[@]}" 2>err >piped
same_files "texts of a pipe" alone piped

# n-best: index, text and score; an empty line has one entry.
printf 'ab 1\n \nab 2' | "${translate[@]}" --beam 3 --n-best 3 >best 2>err
same "entries" "0 0 0 1 2 2 2" "$(awk -F' [|][|][|] ?' '{printf "%s%s", (NR > 1 ? " " : ""), $1}' best)"
same "of the empty line" '1 |||  ||| 0.000000' "$(grep -a '^1 ' best)"
matches best '^2 \|\|\| .* \|\|\| -[0-9]+\.[0-9]{6}$'

# A line that is typed is answered before the next line.
coproc typed { "${translate[@]}" --interactive "${sample[@]}" 2>typed.err; }
# shellcheck disable=SC2154 # coproc sets typed_PID
process=$typed_PID
exec {answers}<&"${typed[0]}" {questions}>&"${typed[1]}" # bash drops its own as soon as the process has ended
# shellcheck disable=SC1083,SC2093 # it closes a descriptor and runs nothing
exec {typed[1]}>&-
for i in 1 2 3; do
  echo "ab $i" >&"$questions"
  IFS= read -r -t 60 answer <&"$answers" || fail "line $i is not answered: $(<typed.err)"
  same "answer to line $i" "$(sed -n "${i}p" alone | tr -d '\0')" "$answer"
done
exec {questions}>&-
wait "$process"

# Long lines under each policy; the translations before a line that stops the program are printed.
long="$(printf 'a%.0s' {1..40})"
printf 'ab 1\n%s\nab 3\n' "$long" >long
"${translate[@]}" long "${sample[@]}" >out 2>err
same "lines" 3 "$(wc -l <out)"
same "the third" "$(sed -n 3p alone)" "$(sed -n 3p out)"
tells err 'line 2: it has 41 tokens, the model.s longest is 24: translated up to there.*1 of 3 lines'
same "left empty" "" "$("${translate[@]}" long "${sample[@]}" --long-lines empty 2>err | sed -n 2p)"
refused 3 'line 2: it has 41 tokens.*--long-lines' -- "${translate[@]}" long --long-lines stop --batch-lines 1
same "printed before" 1 "$(wc -l <"$stdout")"

# Prefixes, and the scores of the translations.
for i in {1..60}; do echo 'b a'; done >prefixes
"${translate[@]}" lines --prefix prefixes "${sample[@]}" >begun 2>err
same "lines with their prefix" 60 "$(grep -ac '^b a' begun)"
head -3 prefixes >few
refused 3 'few has 3 lines, and lines has more' -- "${translate[@]}" lines --prefix few
cat prefixes few >longer
refused 3 'lines has 60 lines, and longer has more' -- "${translate[@]}" lines --prefix longer
cp prefixes given
"$weft" rescore lines given --checkpoint run >scores 2>err
same "pairs" 60 "$(grep -cE '^-[0-9]+\.[0-9]{6}	-[0-9]+\.[0-9]{6}	3$' scores)"
on_ranks 2 "$weft" rescore lines given --checkpoint run --batch-lines 7 2>err >shared
same_files "scores of two ranks" scores shared
"$weft" rescore lines given --checkpoint run --json 2>err | sed -n 60p >object
matches object '"index":59,.*"token_log_probabilities":\['
refused 3 'given has 60 lines, and ' -- "$weft" rescore <(cat lines lines) given --checkpoint run

# Options that contradict each other, and files that do not exist.
refused 2 'temperature has no effect with method beam' -- "${translate[@]}" --beam 2 --temperature 0.5
refused 2 'beam has no effect with method sample' -- "${translate[@]}" --search method=sample --beam 2
refused 2 'standard input cannot be two files' -- "${translate[@]}" --prefix -
refused 3 'nowhere' -- "${translate[@]}" nowhere
refused 3 'is a directory' -- "${translate[@]}" data
refused 2 'batch-lines' -- "${translate[@]}" --batch-lines 0
echo "weft translate: done"
