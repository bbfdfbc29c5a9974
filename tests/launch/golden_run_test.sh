#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# golden_run_test.sh WEFT SCRATCH
# A dataset, a run directory and its checkpoint (dp 2 x tp 2, ZeRO 1, bf16) that weft 0.1.0 wrote at revision 4f70de0
# lie in golden/run-v1: this weft verifies, evaluates, translates and resumes them, on their layout and on one rank.
#
# They were made with that revision in a copy of the folder with job.yaml and the three texts:
#   weft prepare job.yaml && mpirun -np 4 weft train job.yaml
# Of the run, the checkpoint of step 400 was kept, and the metrics up to it; losses.json holds the losses of the 20 steps
# that followed, evaluated.json what `weft evaluate job.yaml --checkpoint ... --split test --set train.precision=fp32`
# printed, translated.txt what `weft translate --checkpoint run --beam 2` printed for the first column of test.tsv.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
weft=$1 scratch=$2
source "$here/common.sh"

# begin NAME: makes a fresh copy to work in, with the job of today beside the old one.
begin() {
  begin_in "$scratch/$1"
  cp -r "$here/golden/run-v1/." .
  cp "$here/golden/job-today.yaml" today.yaml
}

# compare_losses BOUND: compares the losses of this run's steps with those of losses.json, "STEP": LOSS a line; all twenty
# must be within the relative bound.
compare_losses() {
  join <(sed -nE 's/.*"event":"train","step":([0-9]+),.*"loss":([0-9.e+-]+),.*/\1 \2/p' run/metrics.jsonl | sort) \
    <(sed -nE 's/^"([0-9]+)": ([0-9.e+-]+),?$/\1 \2/p' losses.json | sort) |
    awk -v bound="$1" '
      { n++; d = ($2 - $3) / $3; if (d < 0) d = -d; if (d > most) most = d }
      END { printf "%d steps, losses within %.1e of those of the weft that began the run\n", n, most
            exit !(n == 20 && most <= bound) }'
}

# number KEY FILE: the value of a number in a line of JSON.
number() { sed -nE "s/.*\"$1\": ?([0-9.e+-]+).*/\\1/p" "$2"; }

begin read
"$weft" inspect prepared --verify
"$weft" inspect run/checkpoints/step-00000400 --verify
"$weft" evaluate today.yaml --checkpoint run/checkpoints/step-00000400 --split test --json --set train.precision=fp32 >json 2>log ||
  fail "evaluate"
awk -v a="$(number nll json)" -v b="$(number nll evaluated.json)" -v m="$(number tokens json)" \
  -v n="$(number tokens evaluated.json)" 'BEGIN { d = (a - b) / b; exit !(m == n && d < 1e-5 && d > -1e-5) }' ||
  fail "evaluated: $(cat json), expected $(cat evaluated.json)"
# Products in bf16 round differently on other processors, and a text may then differ from some token on.
cut -f1 test.tsv | "$weft" translate --checkpoint run --beam 2 >texts
same=$(paste -d'\t' texts translated.txt | awk -F'\t' '$1 == $2 && $1 != ""' | wc -l)
((same >= 5)) || fail "only $same of 8 texts are what they were: $(cat texts)"

# The dataset has no text of its targets, so no run can select checkpoints by BLEU: nothing is written.
sed '/^evaluation:$/a\  metric: bleu' today.yaml >bleu.yaml
place=bleu.yaml:$(grep -n 'metric: bleu' bleu.yaml | cut -d: -f1):3
for command in 'validate bleu.yaml --ranks 2' 'train bleu.yaml --set parallel.tp=1 --set run_dir=new'; do
  # shellcheck disable=SC2086 # words
  refused 3 'evaluation.metric: bleu .* prepared \(version 1\) does not keep .*hint: prepare it again' -- "$weft" $command
  [[ $command == train* ]] || contains "what weft validate says" "$(<"$stderr")" "$place: evaluation.metric"
done
[[ ! -e new ]] || fail "a run that was refused left something behind"

# The old job file: each renamed key is an error that names its place and the new key.
"$weft" validate job.yaml >log 2>&1 && fail "an old job file was taken"
for pair in 'batch.micro_tokens batch.micro_batch_tokens' 'parallel.zero parallel.zero_stage' \
  'schedule.warmup schedule.warmup_steps' 'override allow_changes' 'timeouts.step timeouts.step_seconds'; do
  read -r old new <<<"$pair"
  matches log "^ *(error: )?job.yaml:[0-9]*:[0-9]*: $old.*$new"
done

begin layout
on_ranks 4 "$weft" train today.yaml 2>log || fail "exit $?"
matches log 'resumed from .*step-00000400 at step 400 of 420'
matches log 'prepared: a dataset of format 1: HDF5 opens its shards, and its tokens have no checksums' 1
matches log 'numerics differ .*attention: not stored, now blocks' 1
lacks log 'changed since the checkpoint' # a renamed key is no change
compare_losses 0.02

begin alone
"$weft" train today.yaml --set parallel.tp=1 --set train.precision=fp32 \
  --set 'allow_changes=[train.precision]' 2>log || fail "exit $?"
compare_losses 0.05
