#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run writes its page while it trains, and what is in the way of the page stops nothing; weft report writes pages of one
# run and of several.
# usage: report_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

for i in $(seq 200); do echo "the boat $((i * 37 % 101)) went by"; done >text.txt
cat >job.yaml <<'YAML'
name: seen
run_dir: run
data: {directory: data, document_delimiter: line, train: {files: [text.txt]}, valid: {files: [text.txt]}}
tokenizer: {kind: bytes, specials: [<e>], eos: <e>}
model: {layers: 1, width: 32, heads: 2, max_length: 16}
batch: {sequences: 4}
schedule: {kind: constant}
train: {max_steps: 12, report: true}
evaluation: {every_steps: 6, max_sequences: 20}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null

# steps_of PAGE: the last step that the page's first run has logged.
steps_of() {
  sed -nE 's/^<script type="application\/json" id="run-0">.*"train":\{"step":\[[0-9,]*\b([0-9]+)\].*/\1/p' "$1"
}
expect 0 -- "$weft" train job.yaml
same "the last step of the page" 12 "$(steps_of run/report.html)"
expect 0 -- "$weft" train job.yaml --set train.max_steps=15 --set 'allow_changes=[train.max_steps]'
same "the last step of the page of a run that was resumed" 15 "$(steps_of run/report.html)"

# A page that cannot be written is one warning.
echo mine >run/report.html
expect 0 -- "$weft" train job.yaml --set train.max_steps=24 --set 'allow_changes=[train.max_steps]'
matches "$stderr" 'report.html is not written \(train.report\)' 1
same "the file that is in the way" mine "$(<run/report.html)"

expect_match 3 'run/report.html is there already, and is no page that weft wrote' 'write to another name' -- "$weft" report run
expect_match 3 'nowhere: no such directory' 'a run that has begun' -- "$weft" report nowhere
expect_match 2 'runs is required' -- "$weft" report
expect_match 0 'wrote page.html' -- "$weft" report run --out page.html
same "the last step of the page of a command" 24 "$(steps_of page.html)"
expect_match 0 'wrote page.html' -- "$weft" report run --out page.html # its own page is replaced
cp -r run other
sed -i 's/width: 32/width: 48/' other/job.yaml
expect_match 0 'wrote report.html' -- "$weft" report run other
matches report.html '"differences":\[\{"key":"model.width","values":\["32","48"\]\}\]'
echo "reports: all as expected"
