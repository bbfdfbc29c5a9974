#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what weft prints about itself, and what it refuses. usage: command_line_test.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
exec </dev/null
cd /

build=('^git revision +[^ ]+' '^compiler +[^ ]+ [0-9]+\.' '^CUDA +[^ ]+' '^cuDNN +[^ ]+' '^NCCL +[^ ]+'
  '^processor level +v[234](-[a-z0-9]+)? \(code|compiled for .*\)$' '^matrix products +oneDNN [0-9.]+ [a-z0-9_]+$' '^bf16 products +(native|emulated)' '^MPI +[A-Za-z]'
  '^HDF5 +[0-9.]+, (serial|parallel), (not )?thread-safe$')
expect_match 0 '^weft [0-9]+\.[0-9]+\.[0-9]+$' "${build[@]}" -- "$weft" --version
expect_match 0 '^weft +[0-9.]+$' "${build[@]}" '^processors +[0-9]+ online' '^memory +[0-9.]+ GiB' '^disk here +[0-9.]+ GiB' \
  '^launcher +none' '^MPI thread level +(FUNNELED|SERIALIZED|MULTIPLE) ' -- "$weft" doctor

expect_match 0 'weft jobs sample-translation > job.yaml' 'weft prepare job.yaml' 'Exit codes' -- "$weft" --help
mapfile -t commands < <(sed -nE '/^Commands for .*:$/,/^$/s/^  ([a-z-]+) .*/\1/p' "$stdout")
lacks "$stdout" '^Subcommands' # every command is in a group
((${#commands[@]} >= 11)) || fail "only these commands: ${commands[*]}"
for command in "${commands[@]}"; do
  expect_match 0 'Usage: ' -- "$weft" "$command" --help
  # The help has the purpose of the command, its options, and an example or further facts.
  (($(cat "$stdout" "$stderr" | wc -l) >= 6)) || fail "weft $command --help has fewer than six lines"
  # A list of names is printed as the names alone.
  prints_no '->'
  # CLI11 would print the range that a number is checked against.
  prints_no '(INT|FLOAT)\b|:POSITIVE|:NONNEGATIVE| OR \{'
  ! LC_ALL=C grep -q '[^[:print:][:space:]]' "$stdout" || fail "weft $command --help prints control characters"
  expect_match 2 '(no-such-option|is required)' -- "$weft" "$command" --no-such-option
done
expect_match 0 '^  no_repeat_ngram = 0 ' '^  tokenizer = 13a ' -- "$weft" evaluate --help
expect_match 0 '^  temperature = 1' '^  --beam VALUE ' -- "$weft" translate --help
expect_match 0 '^  --device DEVICE:\{auto,cpu,cuda\}' -- "$weft" evaluate --help
expect_match 0 '^  --long-lines [A-Z]+:\{[a-z]+,[a-z]+(,[a-z]+)*\}' -- "$weft" translate --help
expect_match 2 "--device: .* not in \{auto,cpu,cuda\}" -- "$weft" evaluate --device gpu
expect_match 0 '^  --ranks N ' -- "$weft" validate --help
expect_match 0 '^  --ranks N ' '^  --memory X ' '^  --threads N=1 ' -- "$weft" plan --help
matches "$stdout" '^  --device NAME:\{a100(,[a-z0-9]+)+\}'
prints_no '--sweep'
refused 2 '--sweep was renamed: write --ranks' -- "$weft" plan job.yaml --sweep 8
expect_match 0 '^  --hypotheses FILE=- \.\.\.' -- "$weft" score --help
# Each command states its own defaults.
expect_match 0 '^  method = sample ' '^  max_length_extra = 100 ' -- "$weft" generate --help
expect_match 0 '^  method = beam ' '^  max_length_extra = 50 ' '^  --top-k VALUE ' -- "$weft" evaluate --help

expect_match 0 '^model: ' '^  model\.width = 128 ' '^  train\.max_steps = 0 ' -- "$weft" keys
expect_match 0 'never\. On resume, another value must be allowed' -- "$weft" keys train.clip_norm
expect_match 0 '^  log\.every_steps = 10 ' -- "$weft" keys log
prints_no 'On resume' # keys of log may change on resume
expect_match 0 '^  model\.dropout\.attention = 0 ' -- "$weft" keys model.dropout
prints_no 'model.width'
expect_match 2 "no key or section 'model.widht'" "did you mean 'model.width'" -- "$weft" keys model.widht

expect_match 2 "no command 'trian'" "did you mean 'train'" -- "$weft" trian job.yaml
expect_match 2 "no command 'fly'" 'prepare, tokenize' -- "$weft" fly job.yaml
expect_match 2 'A subcommand is required' -- "$weft"
expect_match 2 'job is required' -- "$weft" train

# A key that is compiled out is not called unknown, and a missing device is named.
export CUDA_VISIBLE_DEVICES=-1
expect_match 2 'device: cuda(, but there is no CUDA device: | needs CUDA, and this weft is built without it)' -- \
  "$weft" train "$root/configs/sample/translation.yaml" --set device=cuda
prints_no unknown
echo "command line: all as expected"
