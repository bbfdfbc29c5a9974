#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft bench: named models, jobs without data, two ranks, JSON, exit codes.
# usage: command_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
begin_in "$scratch"
small=(--set model.layers=1 --set model.width=32 --set batch.sequences=2)

expect 0 'MFU: n/a' -- "$weft" bench --model char "${small[@]}" --steps 2 --warmup 1 --json one.json
matches one.json '"ceiling_share": 0\.'
matches one.json '"format": 1'
expect 0 'peak: not measured' -- "$weft" bench --model char "${small[@]}" --steps 1 --no-peak \
  --set train.precision=bf16

# A job whose data is not prepared.
cat >job.yaml <<'YAML'
task: translation
name: unprepared
data: {directory: nowhere, format: tsv, train: {files: [nothing.tsv]}}
tokenizer: {kind: bpe, vocabulary: 300, specials: [<s>, </s>], bos: <s>, eos: </s>}
model: {encoder_layers: 1, layers: 1, width: 32, heads: 2, max_length: 64}
batch: {order: bucketed, tokens: 200}
train: {max_steps: 5}
YAML
expect 0 'lengths of four dice' -- "$weft" bench job.yaml --steps 2 --no-peak
expect 0 'dp 2 x tp 1' -- on_ranks 2 "$weft" bench job.yaml --steps 2 --no-peak \
  --json two.json
matches two.json '"total":' 3 # two steps and their mean, written by one rank

# With a dataset, the lengths are those of the dataset.
for i in {1..40}; do printf 'a b c %s\td e %s\n' "$i" "$i"; done >nothing.tsv
"$weft" prepare job.yaml 2>/dev/null
expect 0 'lengths of nowhere' -- "$weft" bench job.yaml --steps 1 --no-peak

# Decoding.
decode=(bench-decode --model char "${small[@]}" --new-tokens 5 --prompt-tokens 4 --repeats 1)
expect 0 '2 texts of 4 + 5 tokens, beam 3' -- "$weft" "${decode[@]}" --batch 2 --beam 3 --weights int8 --json decode.json
matches decode.json '"weights": "int8"'
matches decode.json '"bandwidth_share": 0\.'
expect 0 'read bandwidth: not measured' -- "$weft" "${decode[@]}" --no-bandwidth --operations
expect 2 'lower --new-tokens or --prompt-tokens' -- "$weft" bench-decode --model char --prompt-tokens 64
expect 2 'language model' -- "$weft" bench-decode --model transformer-tiny
expect 2 '--weights' -- "$weft" "${decode[@]}" --weights int4

expect 2 'one job file or one --model' -- "$weft" bench
expect 2 'one job file or one --model' -- "$weft" bench job.yaml --model char
expect 2 'use one of gpt2-124m' -- "$weft" bench --model gpt5
expect 2 'model.heads' -- "$weft" bench --model char --set model.heads=3
expect 2 'unknown key' -- "$weft" bench --model char --set model.heds=4
expect 2 '--steps' -- "$weft" bench --model char --steps 0
echo '65 3' >long.txt
echo x >bad.txt
expect 2 'give shorter rows' -- "$weft" bench job.yaml --no-peak --lengths long.txt
expect 3 ':1: expected two numbers' -- "$weft" bench job.yaml --no-peak --lengths bad.txt
expect 3 'no-folder' -- "$weft" bench --model char "${small[@]}" --steps 1 --no-peak --json no-folder/x.json

if command -v python3 >/dev/null; then
  expect 0 "of one rank's" -- python3 -B "$root/bench/cpu/replicas.py" --weft "$weft" --model char --steps 1 --repeats 1 \
    --threads 2 --out replicas.json --raw raw.json
  matches raw.json '"dp": 2' 1
  matches raw.json '"dp": 1' 1
  matches replicas.json '"exposed_share": \{"median": ' 1
  lacks replicas.json "$PWD" # results name no folder of this machine
  expect 0 'same_bits has ' -- python3 -B "$root/bench/cpu/numerics.py" --weft "$weft" --models char --repeats 1 \
    --out numerics.json --raw raw.json
  matches numerics.json 'numerics=same_bits' 1
  lacks numerics.json "$PWD"
  # A program that says what rows_bench would: a window's run takes 6 ms, that of all keys 2.
  cat >rows_bench <<'BENCH'
#!/bin/sh
case $1 in *window*) each=3 ;; *) each=1 ;; esac
echo "{\"benchmarks\": [{\"real_time\": $each, \"time_unit\": \"ms\"}, {\"real_time\": $each, \"time_unit\": \"ms\"}]}"
BENCH
  chmod +x rows_bench
  expect 0 'fp32: a token in the window costs 0.75 of' 'bf16: a token in the window' -- \
    python3 -B "$root/bench/cpu/window.py" --weft "$weft" --bench rows_bench --repeats 2 --out window.json --raw raw.json
  matches window.json '"ratios": \{"median": 1.33' 2
  expect 2 'no no-bench here: build it with -DWEFT_BENCH=ON' -- python3 -B "$root/bench/cpu/window.py" --bench no-bench
  expect 0 "of dd's rate" -- python3 -B "$root/bench/cpu/saves.py" --weft "$weft" --model tiny --every 3 --repeats 2 --out saves.json \
    --raw raw.json
  matches raw.json '"snapshot_ms"' 3
  matches saves.json '"snapshot_ms": \{"median": ' 1
  lacks saves.json "$PWD"
fi
echo "bench: all as expected"
