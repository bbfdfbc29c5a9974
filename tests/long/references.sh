#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares ids and scores with those of the programs that define them: references.sh SCRATCH
# WEFT_REFERENCE_PYTHON: a Python that has these packages (python3).
set -euo pipefail
scratch=$1 python=${WEFT_REFERENCE_PYTHON:-python3} documents=4549 corpora=60 chats=500
[[ -z $WEFT_LONG_SHORT ]] || documents=300 corpora=3 chats=20
"$python" -c 'import tiktoken, tokenizers, sentencepiece, sacrebleu, regex, numpy, transformers, trl' 2>"$scratch/why" ||
  { tail -n 1 "$scratch/why"; exit 77; }
data=${WEFT_TEST_DATA:-../shared/data}
[[ -e $data/tiktoken/cl100k_base.tiktoken ]] || { echo "$data has no tiktoken/cl100k_base.tiktoken (WEFT_TEST_DATA)"; exit 77; }
for package in tiktoken tokenizers sentencepiece sacrebleu transformers trl; do
  echo "$package $("$python" -c "from importlib.metadata import version; print(version('$package'))")" >&3
done
"$python" -B tests/data/tokenizer/against_reference.py build/cpu/weft "$documents" "$data" | tee "$scratch/ids"
echo "documents $(sed -nE 's/.*: ([0-9]+) documents, .*/\1/p' "$scratch/ids" | awk '{ sum += $1 } END { print sum }')" >&3
"$python" -B tests/data/chat/against_transformers.py build/cpu/weft "$chats" | tee "$scratch/chats"
echo "conversations $(sed -nE 's/^([0-9]+) conversations have.*/\1/p' "$scratch/chats")" >&3
"$python" -B tests/evaluate/scores_against_sacrebleu.py build/cpu/weft --corpora "$corpora" | tee "$scratch/scores"
"$python" - "$scratch/scores" <<'PYTHON' >&3
import json, sys
for name, value in json.loads(open(sys.argv[1]).read().splitlines()[-1]).items():
    print(name, value)
PYTHON
echo "ids are those of tiktoken, tokenizers, sentencepiece and apply_chat_template; scores those of sacreBLEU"
