#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From nothing to a trained model: installs what is missing, builds weft and trains on two ranks. Run again, it does only
# what is left. Some minutes on two cores the first time; a network is needed for the packages alone.
#
#   ./launch/quickstart.sh               translation on the sample corpus: stopped half-way, resumed, scored
#   ./launch/quickstart.sh gpt           a language model of Shakespeare's plays, which continues a line of them
#   ./launch/quickstart.sh gpt FILE...   the same of any text of your own: plain or gzip files, or folders of them
#
# It builds for CUDA devices if it sees one. WEFT_CUDA=ON builds for them in any case, WEFT_CUDA=OFF in none.
set -euo pipefail
called_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/common.sh

weft=build/cpu/weft
started=$SECONDS

build_weft() {
  install_missing_packages launch/packages.txt
  say "Building weft in build/cpu"
  local cuda
  cuda=$(cuda_setting build/cpu)
  build cpu ${cuda:+"$cuda"} weft
}

# The last step that the run in folder $1 has logged; 0 before the first.
last_step() { tail -n 1 "$1/metrics.jsonl" 2>/dev/null | sed -nE 's/.*"step":([0-9]+).*/\1/p' | grep . || echo 0; }

# Sets the array train to the command that trains the job of the arguments on two ranks.
choose_training() {
  choose_mpirun 2
  train=("${MPIRUN[@]}" "$weft" train "$@")
}

# stop_half_way RUN STEPS: starts the training and stops it with a signal in the middle of its steps.
stop_half_way() {
  local run=$1 half=$(($2 / 2)) code=0
  say "Training on two ranks, to be stopped half-way (step $half of $2): ${train[*]}"
  "${train[@]}" &
  pid=$!
  trap 'kill -TERM $pid 2>/dev/null || true' EXIT
  while kill -0 $pid 2>/dev/null && (($(last_step "$run") < half)); do sleep 1; done
  kill -USR1 $pid 2>/dev/null || true
  wait $pid || code=$?
  trap - EXIT
  # 75: stopped by a signal after a committed checkpoint. mpirun warns about this code, as expected.
  ((code == 75 || code == 0)) || fail "training ended with exit code $code"
  say "Exit code $code: saved and stopped half-way, as requested (mpirun warns about it). The same command resumes the run"
}

# say_what_there_is RUN: writes the page of a run and prints what there is of it; the caller adds what to try next.
say_what_there_is() {
  $weft report "$1"
  say "Done in $((SECONDS - started)) seconds"
  cat <<END
The program          $weft (weft --help lists its commands, weft doctor describes this machine)
The text as tokens   corpora/prepared/
The run              $1/: job.yaml, metrics.jsonl, checkpoints/
A page about it      $1/report.html, for any browser
END
}

translation() {
  local job=configs/sample/translation.yaml run=runs/sample-translation scores lines translated i
  build_weft
  say "Preparing the sample corpus, English to Norwegian: a tokenizer is learned, the text becomes tokens in HDF5"
  $weft prepare $job

  choose_training $job
  if [[ ! -d $run/checkpoints ]]; then
    stop_half_way $run "$(sed -nE 's/^  max_steps: ([0-9]+).*/\1/p' $job)"
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

  say_what_there_is $run
  cat <<END
Its translations     $run/test.norwegian.txt (scores: test.scores.txt)

What to try next:
  echo 'Tomorrow I will buy two old houses.' | $weft translate --checkpoint $run --beam 5
  $weft inspect $run
  $weft train $job --set name=wider --set model.width=192
  ./launch/quickstart.sh gpt
  ./launch/test.sh
END
}

# A line of the text in the file, from the part that is held out, cut behind a word.
line_to_continue() {
  local line
  line=$(zcat -f -- "$1" 2>/dev/null | awk 'NF { lines[n++] = $0 } END { print lines[int(n * 0.95)] }' | tr -d '\000-\037')
  ((${#line} <= 80)) || line=${line:0:80} line=${line% *}
  printf '%s' "$line"
}

# language_model FILE...: of the job's own text if no file is named. Each text has a run of its own.
language_model() {
  local job=configs/gpt/own-text.yaml name=own-text settings=() files=() file given prompt quoted
  for given in "$@"; do
    file=$(cd "$called_in" && realpath -e -- "$given" 2>/dev/null) || fail "there is no file or folder $given"
    [[ $file != *[\"\\]* ]] || fail "$file: a job cannot name a file with quotes or backslashes"
    files+=("$file")
  done
  if ((${#files[@]})); then
    file=${files[0]##*/} quoted=$(printf ', "%s"' "${files[@]}")
    name=own-text-$(tr -c '[:alnum:]_\n' - <<<"${file%%.*}")-$(cksum <<<"$quoted" | cut -d ' ' -f 1)
    settings=(--set "name=$name" --set "data.directory=corpora/prepared/$name" --set "data.train.files=[${quoted#, }]")
  else
    files=(configs/sample/shakespeare.txt.gz)
  fi
  build_weft
  say "Preparing ${files[*]}: a tokenizer is learned, the text becomes tokens in HDF5"
  $weft prepare $job "${settings[@]}"

  choose_training $job "${settings[@]}"
  say "Training on two ranks; finished steps are not repeated: ${train[*]}"
  "${train[@]}"

  say "How well it predicts the last tenth of the text, which it was not trained on"
  $weft evaluate $job "${settings[@]}" --split valid

  prompt=$(line_to_continue "${files[0]}")
  say "It continues${prompt:+ \"$prompt\"}: weft generate --checkpoint runs/$name --temperature 0.8"
  $weft generate --checkpoint "runs/$name" ${prompt:+--prompt "$prompt"$'\n'} --temperature 0.8 --max-tokens 100

  say_what_there_is "runs/$name"
  cat <<END

What to try next:
  $weft generate --checkpoint runs/$name --prompt 'Words of your own' --temperature 0.8
  $weft generate --checkpoint runs/$name --prompt 'The' --candidates 10
  ./launch/quickstart.sh gpt my-text.txt
  less $job         # a wider model, more steps: what each key means is in docs/configuration.md
END
}

case ${1-} in
  '') translation ;;
  gpt) language_model "${@:2}" ;;
  -h | --help) say_usage ;;
  *)
    say_usage
    fail "there is no argument $1"
    ;;
esac
