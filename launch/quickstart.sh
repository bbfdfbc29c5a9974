#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to translations: installs what is missing, builds weft, prepares the sample corpus, trains a translation
# model on two ranks, stops it half-way and resumes it, scores it and translates. Run again, it does only what is left.
# Some minutes on two cores the first time; a network is needed for the packages alone. It takes no arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/common.sh
if (($#)); then
  say_usage
  [[ $1 == -h || $1 == --help ]] && exit
  fail "there is no argument $1"
fi

job=configs/sample/translation.yaml
run=runs/sample-translation
weft=build/cpu/weft
started=$SECONDS

install_missing_packages launch/packages.txt

say "Building weft in build/cpu"
build cpu weft

say "Preparing the sample corpus, English to Norwegian: a tokenizer is learned, the text becomes tokens in HDF5"
$weft prepare $job

choose_mpirun 2
train=("${MPIRUN[@]}" "$weft" train "$job")

# The last step that the run has logged; 0 before the first.
last_step() { tail -n 1 "$run/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"step":([0-9]+).*/\1/p' | grep . || echo 0; }

if [[ ! -d $run/checkpoints ]]; then
  steps=$(sed -nE 's/^  max_steps: ([0-9]+).*/\1/p' $job)
  say "Training on two ranks, to be stopped half-way (step $((steps / 2)) of $steps): ${train[*]}"
  "${train[@]}" &
  pid=$!
  trap 'kill -TERM $pid 2>/dev/null || true' EXIT
  while kill -0 $pid 2>/dev/null && (($(last_step) < steps / 2)); do sleep 1; done
  kill -USR1 $pid 2>/dev/null || true
  code=0
  wait $pid || code=$?
  trap - EXIT
  # 75: stopped by a signal after a committed checkpoint. mpirun warns about this code, as expected.
  ((code == 75 || code == 0)) || fail "training ended with exit code $code"
  say "Exit code $code: saved and stopped half-way, as requested (mpirun warns about it). The same command resumes the run"
else
  say "Training on two ranks; finished steps are not repeated: ${train[*]}"
fi
"${train[@]}"

say "BLEU on sentences whose combinations of words were never trained (looking words up reaches 37.8)"
scores=$run/test.scores.txt
if [[ ! -s $scores || $weft -nt $scores || -n $(find $run/checkpoints -name manifest.json -newer $scores) ]]; then
  $weft evaluate $job --split test --translations $run/test.norwegian.txt >$scores.tmp
  mv $scores.tmp $scores
fi
cat $scores

say "Five held-out sentences: weft translate --checkpoint $run"
mapfile -t lines < <(zcat configs/sample/test.tsv.gz | awk 'NR % 200 == 7')
mapfile -t translated < <(printf '%s\n' "${lines[@]%%$'\t'*}" | $weft translate --checkpoint $run)
for i in "${!lines[@]}"; do
  printf '  English    %s\n  weft       %s\n  reference  %s\n\n' \
    "${lines[i]%%$'\t'*}" "${translated[i]:-}" "${lines[i]#*$'\t'}"
done

say "Done in $((SECONDS - started)) seconds"
cat <<END
The program          $weft (weft --help lists its commands, weft doctor describes this machine)
The corpus           configs/sample/*.gz (described in docs/sample_corpus.md), as tokens in corpora/prepared/
The run              $run/: job.yaml, metrics.jsonl, checkpoints/
Its translations     $run/test.norwegian.txt (scores: test.scores.txt)

What to try next:
  echo 'Tomorrow I will buy two old houses.' | $weft translate --checkpoint $run --beam 5
  $weft inspect $run
  $weft train $job --set name=wider --set model.width=192
  $weft prepare configs/sample/gpt.yaml && $weft train configs/sample/gpt.yaml
  ./launch/test.sh
END
