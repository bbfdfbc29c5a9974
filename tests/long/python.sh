#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares weft with the Python packages that others use: python.sh SCRATCH
set -euo pipefail
scratch=$1
python3 -c 'import ctranslate2, torch, transformers, peft, tensorboard, lm_eval' 2>"$scratch/why" || { tail -n 1 "$scratch/why"; exit 77; }
data=${WEFT_TEST_DATA:-../shared/data}
[[ -e $data/gpt2/vocab.json ]] || { echo "$data has no gpt2/vocab.json (WEFT_TEST_DATA)"; exit 77; }
cases=()
[[ -z $WEFT_LONG_SHORT ]] || cases=(small)
python3 -B tests/exchange/against_transformers.py build/cpu "${cases[@]}" --data "$data"
echo "transformers agrees" >&3
[[ -z $WEFT_LONG_SHORT ]] || cases=(gpt-2 marian)
python3 -B tests/exchange/against_ctranslate2.py build/cpu "${cases[@]}"
echo "ctranslate2 agrees" >&3
python3 -B tests/trainer/against_tensorboard.py build/cpu
echo "tensorboard agrees" >&3
python3 -B tests/bench/peers_test.py 2>"$scratch/peers" || { cat "$scratch/peers"; exit 1; }
echo "peers agree" >&3
python3 -B tests/evaluate/against_lm_eval.py build/cpu/weft
echo "lm_eval agrees" >&3
[[ -z $WEFT_LONG_SHORT ]] || exit 0
python3 -B tests/trainer/finetuning_against_peft.py build/cpu --data "$data"
echo "peft agrees" >&3
