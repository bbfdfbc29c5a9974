#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Breaks a scratch copy of weft in many small ways, one at a time, and checks that a named test notices each.
#
#   tests/mutations/run.sh                 all patches of this folder
#   tests/mutations/run.sh padded tied     the patches whose names contain one of the words
#   tests/mutations/run.sh --check         checks only that every patch still applies, and is listed in the page of its table
#   tests/mutations/run.sh --table         prints the tables of docs/layouts.md and, for cuda/, of docs/simulated_device.md
#
# Patches in cuda/ break device code; their tests run on the simulated device. Tests called mpi_... run on four ranks. A
# patch begins with a sentence that says what it breaks and a line "Test: TARGET FILTER". The scratch copy is of the last
# commit. Takes about half a minute a patch on two cores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

# test_of PATCH: sets target and filter.
test_of() { read -r _ target filter < <(grep '^Test: ' "$1"); }
# row PATCH: the patch's line of the table.
row() {
  local target filter
  test_of "$1"
  # shellcheck disable=SC2016 # Markdown's backticks
  printf '| %s | `%s %s` |\n' "$(head -n 1 "$1")" "$target" "$filter"
}

# name_of PATCH: its name, such as 07-padded or cuda/41-row-sums.
name_of() {
  local path=${1#"$here"/}
  printf '%s' "${path%.patch}"
}
page_of() { if [[ $(name_of "$1") == cuda/* ]]; then echo docs/simulated_device.md; else echo docs/layouts.md; fi; }

all=("$here"/*.patch "$here"/cuda/*.patch)
check_only=false words=()
while (($#)); do
  argument=$1
  shift
  case $argument in
    --check) check_only=true ;;
    --table)
      for patch in "${all[@]}"; do row "$patch"; done
      exit 0
      ;;
    -h | --help)
      sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) words+=("$argument") ;;
  esac
done

chosen() {
  ((${#words[@]} == 0)) && return 0
  local word
  for word in "${words[@]}"; do [[ $1 == *"$word"* ]] && return 0; done
  return 1
}

if $check_only; then
  status=0
  for patch in "${all[@]}"; do
    grep -q '^Test: [a-z_]* .' "$patch" || { echo "$patch: no line 'Test: TARGET FILTER'"; status=1; }
    (cd "$root" && git apply --check "$patch") || { echo "$patch does not apply"; status=1; }
    grep -qxF "$(row "$patch")" "$root/$(page_of "$patch")" || { echo "$(page_of "$patch") lacks: $(row "$patch")"; status=1; }
  done
  exit $status
fi

patches=()
for patch in "${all[@]}"; do
  chosen "$(name_of "$patch")" && patches+=("$patch")
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git -C "$root" archive HEAD | tar -x -C "$scratch"
cd "$scratch"
# A compiler cache has what the build beside this one compiled; without a cache, compiling only PTX is the fastest.
# It knows a file again only if the same files are compiled together.
settings=(-DWEFT_CUDA_ARCHITECTURES=80-virtual)
if command -v ccache >/dev/null && [[ -e $root/build/cpu/CMakeCache.txt ]]; then
  mapfile -t settings < <(sed -nE 's/^(WEFT_(CUDA_ARCHITECTURES|UNITY):[A-Z]+=..*)/-D\1/p' "$root/build/cpu/CMakeCache.txt")
fi
[[ ! -d $root/build/arrow/pyarrow ]] || settings+=("-DARROW_ROOT=$root/build/arrow/pyarrow")
cmake --preset cpu "${settings[@]}" >configure.log

# run_test TARGET FILTER NAME: 0 passed, 1 failed, 2 did not build or ran no test.
run_test() {
  cmake --build build/cpu --target "$1" >build.log 2>&1 || return 2
  local binary
  binary=$(find build/cpu/tests -type f -name "$1")
  local device=(env)
  [[ $3 == cuda/* ]] && device=(env WEFT_TEST_DEVICE=cuda WEFT_CUDA_DEVICE_COUNT=4 LD_LIBRARY_PATH="$PWD/build/cpu/simulated")
  [[ $1 == mpi_* ]] && device=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
    mpirun --oversubscribe --bind-to none -np 4)
  timeout 300 "${device[@]}" "$binary" --gtest_filter="$2" --gtest_brief=1 >test.log 2>&1 && result=0 || result=1
  grep -q '\[==========\] 0 tests' test.log && return 2
  return "$result"
}

declare -A sound
survived=0 total=0
for patch in "${patches[@]}"; do
  name=$(name_of "$patch")
  test_of "$patch"
  if [[ -z ${sound[$target $filter]:-} ]]; then
    run_test "$target" "$filter" "$name" || { echo "$target $filter does not pass unbroken"; tail -20 build.log test.log; exit 1; }
    sound[$target $filter]=yes
  fi
  git apply "$patch"
  run_test "$target" "$filter" "$name" && noticed=0 || noticed=$?
  case $noticed in
    0) verdict=SURVIVED ;;
    1) verdict=caught ;;
    *) verdict="NOT BUILT" ;;
  esac
  git apply --reverse "$patch"
  total=$((total + 1))
  [[ $verdict == caught ]] || survived=$((survived + 1))
  printf '%-10s %-36s %s %s\n' "$verdict" "$name" "$target" "$filter"
done
echo "$((total - survived)) of $total caught"
((survived == 0))
