#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft score on files of three lines, with the figures that sacreBLEU 2.6.0 gave (jiwer 4.0.0 for the character error rate).
# usage: score_test.sh WEFT SCRATCH
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$2"
shown=(out)

# field KEY [FILE]: the printed value of a key of JSON
field() { sed -nE "s/^ *\"$1\": (.*[^,]),?$/\1/p" "${2:-out}"; }

printf '%s\n' 'The cat sat on the mat.' 'A dog ran home today.' 'It rained, all day long.' >a.txt
printf '%s\n' 'The cat is on the mat.' 'The dog ran home today.' 'It rained all day.' >b.txt
printf '%s\n' 'The cat sat on a mat.' 'The dog ran home today.' 'It rained, all day.' >ref.txt
printf '%s\n' 'A cat sat on the mat.' 'A dog ran home.' 'It rained all day long.' >ref2.txt

# Text output.
"$weft" score --hypotheses a.txt --reference ref.txt --metrics bleu chrf chrf++ ter cer >out
same "all metrics" "BLEU chrF2 chrF2++ TER CER" "$(sed -E 's/\|.*//' out | paste -sd' ')"
cat >expected <<'EXPECTED'
BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp = 62.83 85.0/70.6/57.1/45.5 (BP = 1.000 ratio = 1.053 hyp_len = 20 ref_len = 19)
chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no = 81.33
chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no = 81.33
TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no = 26.67
CER|nrefs:1|case:mixed|space:yes = 17.46 (edits = 11 ref_len = 63)
EXPECTED
sed -E 's/\|version:[^ ]*//' out >found
same_files "the figures of sacreBLEU and jiwer" expected found
same "several references" "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp = 97.65 100.0/100.0/100.0/90.9 (BP = 1.000 ratio = 1.053 hyp_len = 20 ref_len = 19)" \
  "$("$weft" score --hypotheses a.txt --reference ref.txt --reference ref2.txt | sed -E 's/\|version:[^ ]*//')"

# Figures do not depend on where the text comes from.
score() { "$weft" score --reference ref.txt "$@"; }
expected=$(score --hypotheses a.txt)
same "standard input" "$expected" "$(score <a.txt)"
# shellcheck disable=SC2002 # a pipe is what is tested
same "a pipe" "$expected" "$(cat a.txt | score --hypotheses -)"
same "a named pipe" "$expected" "$(score --hypotheses <(cat a.txt))"
gzip -k a.txt
same "gzip" "$expected" "$(score --hypotheses a.txt.gz)"
same "gzip from a pipe" "$expected" "$(score <a.txt.gz)"
sed 's/$/\r/' a.txt >crlf.txt
same "carriage returns" "$expected" "$(score --hypotheses crlf.txt)"

# JSON output.
"$weft" score --hypotheses a.txt --reference ref.txt --reference ref2.txt --json >out
same "its name" '"BLEU"' "$(field name)"
same "its score" "97.64" "$(field score | cut -c1-5)"
same "its references" '"2"' "$(field nrefs)"
"$weft" score --hypotheses a.txt --hypotheses b.txt --reference ref.txt --paired-bs --samples 200 --json >out
same "systems" '"Baseline: a.txt" "b.txt"' "$(field system | paste -sd' ')"
same "the baseline is not compared with itself" null "$(field p_value | head -n 1)"
[[ $(field p_value | tail -n 1) =~ ^(0\.[0-9]+|1\.0)$ ]] || fail "no p"

# Systems are compared.
paired() { "$weft" score --reference ref.txt --metrics bleu ter --paired-bs --samples 200 "$@"; }
paired --hypotheses a.txt --hypotheses b.txt >out
tells out 'Baseline: a.txt .*μ = .*b.txt .*\(p = [01]\.[0-9]{4}\)'
same "the same lines are drawn again" "$(cat out)" "$(paired --hypotheses a.txt --hypotheses b.txt)"
# Systems with the same translations have the same mean and interval: the same lines were drawn for both.
paired --hypotheses a.txt --hypotheses crlf.txt >out
same "the same lines for all systems" "$(sed -nE 's/^Baseline: a.txt  .*(μ[^)]*).*\(μ.*/\1/p' out)" \
  "$(sed -nE 's/^crlf.txt  *[0-9.]+ \((μ[^)]*).*/\1/p' out)"
matches out μ 2

# Files that cannot be scored: one message, and no figures.
refused_score() {
  refused "$1" "$2" -- "$weft" score "${@:3}"
  same "standard output" '' "$(<"$stdout")"
}
head -n 2 a.txt >short.txt
: >empty.txt
printf '\n\n\n' >blank.txt
head -c 60 a.txt.gz >damaged.gz
refused_score 3 'short.txt has 2 lines, ref.txt has 3' --hypotheses short.txt --reference ref.txt
refused_score 3 'ref.txt has 3 lines, short.txt has 2' --hypotheses a.txt --reference ref.txt --reference short.txt
refused_score 3 'empty.txt has no line' --hypotheses empty.txt --reference empty.txt
refused_score 3 'none.txt' --hypotheses none.txt --reference ref.txt
refused_score 3 'is a directory' --hypotheses . --reference ref.txt
refused_score 3 'damaged.gz' --hypotheses damaged.gz --reference ref.txt
refused_score 2 'tokenizer.*13a.*intl.*zh' --hypotheses a.txt --reference ref.txt --bleu tokenizer=moses
refused_score 2 'rouge' --hypotheses a.txt --reference ref.txt --metrics rouge
refused_score 2 'asked for twice' --hypotheses a.txt --reference ref.txt --metrics bleu bleu
refused_score 2 'asked for twice' --reference - <a.txt
refused_score 2 'reference' --hypotheses a.txt
refused_score 2 'samples' --hypotheses a.txt --reference ref.txt --samples 5
"$weft" score --hypotheses blank.txt --reference ref.txt >out
tells out ' = 0\.00 ' # empty translations are wrong, not missing
