#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Validates and plans the translation jobs at the sizes of papers, with the sample corpus in place of their own text:
# paper_jobs_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"

files=()
for split in train valid test; do
  zcat "$root/configs/sample/$split.tsv.gz" | cut -f 1 >$split.en
  zcat "$root/configs/sample/$split.tsv.gz" | cut -f 2 >$split.no
  files+=(--set "data.$split.source=[$split.en]" --set "data.$split.target=[$split.no]")
done
jobs=("$root"/configs/translation/{transformer,pairs}-*.yaml)
same "jobs" 7 "${#jobs[@]}"
for job in "${jobs[@]}"; do
  expect 0 'no problem found' 'its text can be read' "memory of a rank's tensors" -- "$weft" validate "$job" --ranks 8 "${files[@]}"
  expect 0 ' parameters, ' 'dp x tp' -- "$weft" plan "$job" --layout 8x1
  # Without its text, the job says which file is missing.
  expect 3 'corpora/' -- "$weft" validate "$job"
done

# The job for few pairs is small enough to be trained here.
small=("$root/configs/translation/pairs-10k.yaml" "${files[@]}")
head -n 2000 train.en >few.en
head -n 2000 train.no >few.no
small+=(--set 'data.train.source=[few.en]' --set 'data.train.target=[few.no]')
expect 0 -- "$weft" prepare "${small[@]}"
expect 0 'done: step 4 of 4' -- "$weft" train "${small[@]}" --set train.max_steps=4 --set schedule.warmup_steps=2
