#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What weft says of itself and refuses. usage: command_line_test.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
output=$(mktemp)
trap 'rm -f "$output"' EXIT
cd /

# expect STATUS PATTERN... -- arguments: each pattern (extended) matches a line of what weft prints.
expect() {
  local expected=$1 status=0 patterns=() pattern
  shift
  while [[ $1 != -- ]]; do
    patterns+=("$1")
    shift
  done
  shift
  "$weft" "$@" </dev/null >"$output" 2>&1 || status=$?
  for pattern in "${patterns[@]}"; do
    grep -qE -- "$pattern" "$output" && continue
    echo "line ${BASH_LINENO[0]}: weft $* says no '$pattern':"
    cat "$output"
    exit 1
  done
  ((status == expected)) && return
  echo "line ${BASH_LINENO[0]}: weft $* ends with $status, not $expected:"
  cat "$output"
  exit 1
}

build=('^git revision +[^ ]+' '^compiler +[^ ]+ [0-9]+\.' '^CUDA +[^ ]+' '^cuDNN +[^ ]+' '^NCCL +[^ ]+'
  '^matrix products +oneDNN [0-9.]+ [a-z0-9_]+$' '^bf16 products +(native|emulated)' '^MPI +[A-Za-z]'
  '^HDF5 +[0-9.]+, (serial|parallel), (not )?thread-safe$')
expect 0 '^weft [0-9]+\.[0-9]+\.[0-9]+$' "${build[@]}" -- --version
expect 0 '^weft +[0-9.]+$' "${build[@]}" '^processors +[0-9]+ online' '^memory +[0-9.]+ GiB' '^disk here +[0-9.]+ GiB' \
  '^launcher +none' '^MPI thread level +(FUNNELED|SERIALIZED|MULTIPLE) ' -- doctor

expect 0 'weft prepare configs/sample/translation.yaml' 'Exit codes' -- --help
mapfile -t commands < <(sed -nE '/^Subcommands:/,/^$/s/^  ([a-z]+) .*/\1/p' "$output")
((${#commands[@]} >= 11)) || { echo "only these commands: ${commands[*]}"; exit 1; }
for command in "${commands[@]}"; do
  expect 0 'Usage: ' -- "$command" --help
  # What it is for, its options, and an example or what to know besides.
  (($(wc -l <"$output") >= 6)) || { echo "weft $command --help teaches nothing:"; cat "$output"; exit 1; }
  expect 2 '(no-such-option|is required)' -- "$command" --no-such-option
done
expect 0 '^  no_repeat_ngram = 0 ' '^  tokenizer = 13a ' -- evaluate --help
expect 0 '^  temperature = 1' '^  --beam VALUE ' -- translate --help
# Each command states its own defaults.
expect 0 '^  method = sample ' '^  max_length_extra = 100 ' -- generate --help
expect 0 '^  method = beam ' '^  max_length_extra = 50 ' '^  --top-k VALUE ' -- evaluate --help

expect 0 '^model: ' '^  model\.width = 128 ' '^  train\.max_steps = 0 ' -- keys
expect 0 'never\. On resume, another value must be allowed' -- keys train.clip_norm
expect 0 '^  log\.every_steps = 10 ' -- keys log
! grep -q 'On resume' "$output" || { echo "weft keys says that keys of log must be allowed on resume"; exit 1; }
expect 0 '^  model\.dropout\.attention = 0 ' -- keys model.dropout
! grep -q 'model.width' "$output" || { echo "weft keys model.dropout prints more than that"; exit 1; }
expect 2 "no key or section 'model.widht'" "did you mean 'model.width'" -- keys model.widht

expect 2 "no command 'trian'" "did you mean 'train'" -- trian job.yaml
expect 2 "no command 'fly'" 'prepare, validate' -- fly job.yaml
expect 2 'A subcommand is required' --
expect 2 'job is required' -- train

# Compiled out is not unknown, and a device that is not there is named.
export CUDA_VISIBLE_DEVICES=-1
expect 2 'device: cuda(, but there is no CUDA device: | needs CUDA, and this weft is built without it)' -- \
  train "$root/configs/sample/translation.yaml" --set device=cuda
! grep -q unknown "$output" || { echo "a key that is compiled out is called unknown"; cat "$output"; exit 1; }
echo "command line: all as expected"
