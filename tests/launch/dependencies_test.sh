#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures weft with its dependencies hidden: one line for each, with the packages of launch/packages.txt and the
# setting that points elsewhere. usage: dependencies_test.sh CMAKE SCRATCH
set -euo pipefail
cmake=$1 scratch=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rm -rf "$scratch" && mkdir -p "$scratch"
log=$scratch/log

fail() {
  echo "not so: $*"
  cat "$log"
  exit 1
}
# configure STATUS [cmake arguments]: what it prints is in $log.
configure() {
  local expected=$1 status=0
  shift
  "$cmake" -S . -B "$scratch/build" -G Ninja "$@" >"$log" 2>&1 || status=1
  ((status == expected)) || fail "cmake $* ends with $expected"
}
missing() { grep -c '^weft needs ' "$log" || true; }

# What weft needs, with the setting that hides it and the one that a message must name.
hide=() names=()
while read -r name setting named; do
  names+=("$name:$named")
  hide+=("-D$setting")
done <<'END'
MPI           CMAKE_DISABLE_FIND_PACKAGE_MPI=ON   -DMPI_CXX_COMPILER=
HDF5          CMAKE_DISABLE_FIND_PACKAGE_HDF5=ON  -DHDF5_ROOT=
oneDNN        oneDNN_ROOT=/nonexistent            -DoneDNN_ROOT=
yaml-cpp      yaml-cpp_ROOT=/nonexistent          -Dyaml-cpp_ROOT=
fmt           fmt_ROOT=/nonexistent               -Dfmt_ROOT=
spdlog        spdlog_ROOT=/nonexistent            -Dspdlog_ROOT=
nlohmann-json nlohmann-json_ROOT=/nonexistent     -Dnlohmann-json_ROOT=
CLI11         CLI11_ROOT=/nonexistent             -DCLI11_ROOT=
PCRE2         PCRE2_ROOT=/nonexistent             -DPCRE2_ROOT=
xxHash        xxHash_ROOT=/nonexistent            -DxxHash_ROOT=
zlib          zlib_ROOT=/nonexistent              -Dzlib_ROOT=
GoogleTest    GoogleTest_ROOT=/nonexistent        -DGoogleTest_ROOT=
END

configure 1 "${hide[@]}"
[[ $(missing) == "${#names[@]}" ]] || fail "one line for each of ${#names[@]} dependencies, not $(missing)"
for entry in "${names[@]}"; do
  name=${entry%%:*} option=${entry#*:}
  line=$(grep "^weft needs $name: " "$log") || fail "a line for $name"
  packages=$(sed -nE "s/^([a-z0-9][^ ]*) +$name: .*/\1/p" launch/packages.txt | paste -sd ' ')
  [[ -n $packages ]] || fail "launch/packages.txt says what brings $name"
  [[ $line == *"install $packages (Debian)"* ]] || fail "the line for $name names $packages"
  [[ $line == *"$option"* ]] || fail "the line for $name names $option"
done
# Whatever the list calls a library of weft's, cmake asks for.
while IFS=: read -r entry _; do
  name=${entry##* }
  case $name in C++ | CMake | Ninja | git | zstd) continue ;; esac
  grep -q "^weft needs $name: " "$log" || fail "$name of launch/packages.txt is looked for"
done < <(grep -E '^[a-z0-9]' launch/packages.txt)

# A library that is there but broken, beside others that are missing.
mkdir -p "$scratch/prefix/include" "$scratch/prefix/lib"
echo '#error not the oneDNN that you want' >"$scratch/prefix/include/dnnl.hpp"
configure 1 "${hide[@]}" -DoneDNN_ROOT="$scratch/prefix"
grep -q "^weft needs oneDNN: the library dnnl is not found in $scratch/prefix; " "$log" || fail "a missing library is named"
: >"$scratch/prefix/lib/libdnnl.so"
configure 1 "${hide[@]}" -DoneDNN_ROOT="$scratch/prefix"
grep -q '^weft needs oneDNN: found, but its test program does not compile' "$log" || fail "a broken header is one line"
grep -q 'not the oneDNN that you want' "$scratch/build/probes/oneDNN/output.txt" || fail "the compiler's words are kept"

# One is missing: one line; and the same folder is good again once it is there.
configure 1 -U'*_ROOT' -U'CMAKE_DISABLE_FIND_PACKAGE_*' -DxxHash_ROOT=/nonexistent
[[ $(missing) == 1 ]] || fail "one line where one is missing"
grep -q '^weft needs xxHash: xxhash.h is not found in /nonexistent; ' "$log" || fail "the line says what was looked for, and where"
configure 0 -UxxHash_ROOT

# zstd: done without, and said so; insisted on, where it is not.
configure 0 -Dzstd_ROOT=/nonexistent
grep -q 'weft: without zstd (zstd.h is not found in /nonexistent)' "$log" || fail "a build without zstd says so"
configure 1 -DWEFT_ZSTD=ON
grep -q 'WEFT_ZSTD=ON, but zstd.h is not found in /nonexistent. Install libzstd-dev' "$log" || fail "a missing zstd is named"
configure 0 -DWEFT_ZSTD=OFF -Uzstd_ROOT
grep -q 'weft: without zstd (-DWEFT_ZSTD=OFF)' "$log" || fail "a choice against zstd is taken"
configure 0 -UWEFT_ZSTD

# CUDA: an unknown choice; without; and insisted on where there is no compiler for it.
configure 1 -DWEFT_CUDA=perhaps
grep -q -e '-DWEFT_CUDA=perhaps: say AUTO, ON or OFF' "$log" || fail "an unknown choice is named"
configure 0 -DWEFT_CUDA=OFF
grep -q 'weft: CPU only (-DWEFT_CUDA=OFF)' "$log" || fail "a build without CUDA says so"
if [[ ! -e /usr/bin/nvcc && ! -e /bin/nvcc ]]; then
  PATH=/usr/bin:/bin configure 1 -DWEFT_CUDA=ON -U'CMAKE_CUDA_*'
  grep -q 'WEFT_CUDA=ON, but no CUDA compiler is found' "$log" || fail "a missing compiler is named"
  PATH=/usr/bin:/bin configure 0 -DWEFT_CUDA=AUTO -U'CMAKE_CUDA_*'
  grep -q 'weft: CPU only (no CUDA compiler is found)' "$log" || fail "what AUTO did not find is one line"
fi
# A toolkit as Python wheels lay it out: libraries in lib/, without the names that linkers look for.
if nvcc=$(command -v nvcc); then
  toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")") wheels=$scratch/wheels
  mkdir -p "$wheels/lib"
  ln -s "$toolkit"/{include,nvvm} "$wheels/"
  cp -rs "$toolkit/bin" "$wheels/bin"
  for library in "$toolkit"/lib64/libcud{art.so.13,art_static.a,adevrt.a}; do ln -s "$library" "$wheels/lib/"; done
  configure 0 -DWEFT_CUDA=ON -U'CMAKE_CUDA_*' -U'CUDA*' -DCUDAToolkit_ROOT="$wheels"
  grep -q '^-- weft: CUDA ' "$log" || fail "a toolkit of Python wheels is taken"
  grep -q "^CUDA_cudart_LIBRARY:FILEPATH=$wheels/lib/libcudart.so.13$" "$scratch/build/CMakeCache.txt" ||
    fail "the runtime is the wheels' own"
fi
echo "dependencies: all as expected"
