#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A change of layout changes neither losses nor texts, under mpirun: a run begun on one rank resumes from its checkpoint
# on other layouts, and from theirs on one rank again, with the losses of a run that never changed; translations are
# the same on any layout.
# usage: layout_test.sh WEFT SCRATCH
set -euo pipefail
weft=$1 scratch=$2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"
export OMPI_MCA_mpi_yield_when_idle=1 # there may be more ranks than processors
on() { on_ranks "$1" "$weft" "${@:2}"; }

ln -s "$root/configs/sample" corpus
cat >job.yaml <<'YAML'
task: translation
name: layouts
data: {directory: data, format: tsv, train: {files: [corpus/train.tsv.gz]}, valid: {files: [corpus/valid.tsv.gz]},
       test: {files: [corpus/test.tsv.gz]}}
tokenizer: {kind: bpe, vocabulary: 601, specials: [<s>, </s>], bos: <s>, eos: </s>}   #   # 2 does not divide it
model: {encoder_layers: 1, layers: 2, width: 32, heads: 2, ffn: 64, max_length: 120, positions: sinusoidal, tying: all,
        dropout: {embedding: 0.1, residual: 0.1, attention: 0.1}}
batch: {order: bucketed, tokens: 600, micro_batch_tokens: 250}
schedule: {kind: cosine, learning_rate: 3e-3, warmup_steps: 5}
train: {max_steps: 30, clip_norm: 1.0, label_smoothing: 0.1}
checkpoint: {every_steps: 10, keep_last: 5}
log: {every_steps: 1}
YAML
"$weft" prepare job.yaml 2>/dev/null
on 1 train job.yaml --set run_dir=straight >log 2>&1 || fail "the straight run"

# same_losses RUN FIRST: expects the losses of RUN from step FIRST on to be those of the straight run within 1e-3.
same_losses() {
  local losses='s/.*"event":"train","step":([0-9]+),.*"loss":([0-9.e+-]+),.*/\1 \2/p'
  join <(sed -nE "$losses" straight/metrics.jsonl | sort) <(sed -nE "$losses" "$1/metrics.jsonl" | sort) |
    awk -v first="$2" -v run="$1" '
      $1 >= first { n++; d = ($3 - $2) / $2; if (d < 0) d = -d; if (d > most) most = d }
      END { printf "%s: %d steps, losses within %.1e\n", run, n, most; exit !(n == 31 - first && most < 1e-3) }' ||
    fail "$1: other losses"
}

for case in '2 tp=2' '2 tp=2,sequence_parallel=true' '2 zero_stage=2' '4 tp=2,zero_stage=1,sequence_parallel=true'; do
  ranks=${case%% *} settings=${case#* } run=${case// /-}
  sets=()
  for setting in ${settings//,/ }; do sets+=(--set "parallel.$setting"); done
  on "$ranks" train job.yaml "${sets[@]}" --set run_dir="$run" --resume straight/checkpoints/step-00000010 >log 2>&1 || fail "$run"
  same_losses "$run" 11
  on 1 train job.yaml --set run_dir="back-$run" --resume "$run/checkpoints/step-00000020" >log 2>&1 || fail "back from $run"
  same_losses "back-$run" 21
done

on 1 evaluate --checkpoint straight --max-sequences 12 --translations one.txt >one.log 2>&1
on 2 evaluate --checkpoint straight --max-sequences 12 --translations two.txt --tp 2 >two.log 2>&1
on 3 evaluate --checkpoint straight --max-sequences 12 --translations three.txt >three.log 2>&1
same_files "texts by tensor parallelism" one.txt two.txt
same_files "texts by three replicas" one.txt three.txt
same "lines" 12 "$(wc -l <one.txt)"
same "the perplexity by tensor parallelism" "$(grep perplexity one.log)" "$(grep perplexity two.log)"
echo "every layout resumes where another stopped, and writes the same texts"
