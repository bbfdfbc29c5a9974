#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A bit of what ranks send each other changes on its way, under mpirun: train.verify_every finds it before the step is
# applied, and names the rank where it can. usage: flips_test.sh WEFT FLIP SCRATCH
set -euo pipefail
weft=$(realpath "$1") flips=$(realpath "$2") scratch=$3
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
begin_translation_in "$scratch" <<'YAML'
name: flips
device: cpu
train: {max_steps: 30, verify_every: 1}
checkpoint: {every_steps: 5, keep_last: 10}
YAML
echo '{extends: job.yaml, batch: {micro_batch_tokens: 150}}' >ordinary.yaml
echo '{extends: job.yaml, numerics: same_bits, threads: 1, batch: {leaf_tokens: 150}}' >same_bits.yaml

# flipped JOB ZERO CALL:NTH:RANK:SIDE PATTERN: three ranks, one of which has a bit flipped; they end with a line like this.
flipped() {
  rm -rf run
  refused 8 "$4" 'test that computer' -- on_ranks 3 env LD_PRELOAD="$flips" WEFT_FLIP="$3" \
    "$weft" train "$1.yaml" --set run_dir=run --set parallel.zero_stage="$2"
  contains "standard error" "$(<"$stderr")" "flipped a bit of"
  [[ ! -e run/checkpoints/step-00000030 ]] || fail "it trained on"
}

# Gradients before they are sent, and as they come: found, and nobody is named.
received='step [0-9]+: replicas have received other gradients than were sent to them'
flipped same_bits 2 MPI_Ialltoall:40:1:received "$received"
flipped same_bits 2 MPI_Ialltoall:40:1:sent "$received"
flipped same_bits 1 MPI_Ireduce_scatter_block:20:2:received "$received"
flipped same_bits 0 MPI_Ireduce_scatter_block:20:2:sent "$received"

# Sums that every replica gets, and weights: the rank that has other ones is named.
flipped same_bits 0 MPI_Iallgather:20:1:received 'step [0-9]+: rank 1 on [^ ]+ has other sums of gradients'
flipped ordinary 0 MPI_Iallreduce:20:2:received 'step [0-9]+: rank 2 on [^ ]+ has other sums of gradients'
flipped ordinary 1 MPI_Iallgather:20:0:received 'step [0-9]+: rank 0 on [^ ]+ computes another gradient than other ranks'

# Without a flip the library changes nothing.
expect 0 'done: step 30 of 30' -- on_ranks 3 env LD_PRELOAD="$flips" "$weft" train same_bits.yaml --set run_dir=sound
expect 0 'every save is the same' -- "$weft" verify sound --from 0
