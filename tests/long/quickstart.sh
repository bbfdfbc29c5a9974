#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the quickstart from nothing, in a copy of the committed sources: quickstart.sh SCRATCH
set -euo pipefail
scratch=$1
git archive HEAD | tar -x -C "$scratch"
cat docs/*.md >"$scratch/my text.txt"
cd "$scratch"

# timed NAME COMMAND...: runs the command, keeps what it prints in NAME.log, and reports its seconds.
timed() {
  local name=$1 began=$SECONDS
  shift
  "$@" | tee "$name.log"
  echo "$name $((SECONDS - began))" >&3
}

timed gpt-seconds launch/quickstart.sh gpt # builds first
grep -q '^== It continues "' gpt-seconds.log
loss=$(sed -nE 's/.*nll ([0-9.]+) over.*/\1/p' gpt-seconds.log | tail -n 1)
echo "gpt-nll $loss" >&3
# Untrained, it is 6.93 (ln 1024) a token.
awk -v loss="$loss" 'BEGIN { exit !(loss < 4.3) }' || { echo "the language model ends at $loss"; exit 1; }
[[ -n $WEFT_LONG_SHORT ]] || {
  timed own-text-seconds launch/quickstart.sh gpt "my text.txt"
  timed translation-seconds launch/quickstart.sh
  bleu=$(sed -nE 's/^BLEU[^=]* = ([0-9.]+) .*/\1/p' translation-seconds.log | tail -n 1)
  echo "translation-bleu $bleu" >&3
  awk -v bleu="$bleu" 'BEGIN { exit !(bleu >= 95 && bleu <= 100) }' || { echo "BLEU is $bleu"; exit 1; }
}
echo "the quickstart ends with a continuation at $loss nats a token, and BLEU ${bleu:-not measured}"
