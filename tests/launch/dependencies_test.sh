#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures weft with its dependencies hidden: one line for each, with the packages of launch/packages.txt and the
# setting that points elsewhere. usage: dependencies_test.sh CMAKE SCRATCH
set -euo pipefail
cmake=$1 scratch=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/support/shell.sh
rm -rf "$scratch" && mkdir -p "$scratch"
log=$scratch/log
shown=("$log")

# configure STATUS [cmake arguments]: runs cmake, expects the status, and writes the output to $log.
configure() {
  local expected=$1 status=0
  shift
  "$cmake" -S . -B "$scratch/build" -G Ninja "$@" >"$log" 2>&1 || status=1
  same "exit status of cmake $*" "$expected" "$status"
}

# The dependencies of weft, each with the setting that hides it and the setting that a message must name.
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
utf8proc      utf8proc_ROOT=/nonexistent         -Dutf8proc_ROOT=
xxHash        xxHash_ROOT=/nonexistent            -DxxHash_ROOT=
zlib          zlib_ROOT=/nonexistent              -Dzlib_ROOT=
GoogleTest    GoogleTest_ROOT=/nonexistent        -DGoogleTest_ROOT=
END

# Looking for CUDA takes most of the time of a configuration, and is not what this is about.
configure 1 "${hide[@]}" -DWEFT_CUDA=OFF
matches "$log" '^weft needs ' "${#names[@]}" # a line for each dependency
for entry in "${names[@]}"; do
  name=${entry%%:*} option=${entry#*:}
  line=$(grep "^weft needs $name: " "$log") || fail "no line for $name"
  packages=$(sed -nE "s/^([a-z0-9][^ ]*) +$name: .*/\1/p" launch/packages.txt | paste -sd ' ')
  [[ -n $packages ]] || fail "launch/packages.txt does not say what brings $name"
  contains "the line for $name" "$line" "install $packages (Debian)" "$option"
done
# cmake looks for each library in the list.
while IFS=: read -r entry _; do
  name=${entry##* }
  case $name in C++ | CMake | Ninja | git | zstd | dygraphs) continue ;; esac
  matches "$log" "^weft needs $name: "
done < <(grep -E '^[a-z0-9]' launch/packages.txt)

# A library that is there but broken, while others are missing.
mkdir -p "$scratch/prefix/include" "$scratch/prefix/lib"
echo '#error not the oneDNN that you want' >"$scratch/prefix/include/dnnl.hpp"
configure 1 "${hide[@]}" -DoneDNN_ROOT="$scratch/prefix"
matches "$log" "^weft needs oneDNN: the library dnnl is not found in $scratch/prefix; "
: >"$scratch/prefix/lib/libdnnl.so"
configure 1 "${hide[@]}" -DoneDNN_ROOT="$scratch/prefix"
matches "$log" '^weft needs oneDNN: found, but its test program does not compile'
matches "$scratch/build/probes/oneDNN/output.txt" 'not the oneDNN that you want'

# One library is missing: one line; the same build folder configures again once the library is there. Tests have nothing
# to do with what is below.
configure 1 -U'*_ROOT' -U'CMAKE_DISABLE_FIND_PACKAGE_*' -DWEFT_TESTS=OFF -DxxHash_ROOT=/nonexistent
matches "$log" '^weft needs ' 1
matches "$log" '^weft needs xxHash: xxhash.h is not found in /nonexistent; '

# What weft can do without: missing, the build says so; required but missing, it is an error; refused, it is left out.
configure 0 -UxxHash_ROOT -Dzstd_ROOT=/nonexistent -Ddygraphs_ROOT=/nonexistent -DARROW_ROOT=/nonexistent
matches "$log" 'weft: without zstd \(zstd.h is not found in /nonexistent\)'
matches "$log" 'weft: without Parquet \(parquet/file_reader.h is not found\)'
matches "$log" 'weft: pages without dygraphs \(dygraph.min.js, dygraph.css or its licence is not found\)'
configure 1 -DWEFT_ZSTD=ON
matches "$log" 'WEFT_ZSTD=ON, but zstd.h is not found in /nonexistent. Install libzstd-dev'
configure 1 -DWEFT_ZSTD=OFF -DWEFT_PARQUET=ON
matches "$log" 'weft: without zstd \(-DWEFT_ZSTD=OFF\)'
matches "$log" 'WEFT_PARQUET=ON, but parquet/file_reader.h is not found. .pip install pyarrow.'
configure 1 -DWEFT_PARQUET=OFF -DWEFT_PAGES=ON
matches "$log" 'weft: without Parquet \(-DWEFT_PARQUET=OFF\)'
matches "$log" 'WEFT_PAGES=ON, but dygraph.min.js, dygraph.css or its licence is not found. Install libjs-dygraphs'
configure 0 -DWEFT_PAGES=OFF -Udygraphs_ROOT -Uzstd_ROOT -UARROW_ROOT
matches "$log" 'weft: pages without dygraphs \(-DWEFT_PAGES=OFF\)'

# CUDA: an unknown choice; a build without it; and required, but without a compiler for it.
configure 1 -DWEFT_CUDA=perhaps
matches "$log" '-DWEFT_CUDA=perhaps: say AUTO, ON or OFF'
configure 0 -DWEFT_CUDA=OFF
matches "$log" 'weft: CPU only \(-DWEFT_CUDA=OFF\)'
if [[ ! -e /usr/bin/nvcc && ! -e /bin/nvcc ]]; then
  PATH=/usr/bin:/bin configure 1 -DWEFT_CUDA=ON -U'CMAKE_CUDA_*'
  matches "$log" 'WEFT_CUDA=ON, but no CUDA compiler is found'
  PATH=/usr/bin:/bin configure 0 -DWEFT_CUDA=AUTO -U'CMAKE_CUDA_*'
  matches "$log" 'weft: CPU only \(no CUDA compiler is found\)'
fi
# Versions of CUDA: an nvcc that only states one, and what it would compile for. The refusal has both sides.
# nvcc_of VERSION CODE...
nvcc_of() {
  cat >"$scratch/nvcc" <<END
#!/bin/sh
case \$1 in --version) echo "Cuda compilation tools, release ${1%.*}, V$1" ;; *) echo "${*:2}" ;; esac
END
  chmod +x "$scratch/nvcc"
}
with_nvcc=(-U'CMAKE_CUDA_*' -DCMAKE_CUDA_COMPILER="$scratch/nvcc")
nvcc_of 12.3.107 sm_80 sm_90
configure 0 -DWEFT_CUDA=AUTO "${with_nvcc[@]}"
matches "$log" "weft: CPU only \\($scratch/nvcc is of CUDA 12\\.3\\.107, and 12\\.4 or later is needed\\)"
nvcc_of 12.4.131 sm_80 sm_90
configure 1 -DWEFT_CUDA=ON "${with_nvcc[@]}" -DWEFT_CUDA_ARCHITECTURES='90-real;100-real'
matches "$log" 'CUDA=ON, but CUDA 12\.4\.131 compiles for 80 90, and WEFT_CUDA_ARCHITECTURES has 100-real\.'
configure 1 -DWEFT_CUDA=ON "${with_nvcc[@]}" -DWEFT_CUDA_ARCHITECTURES=75
matches "$log" "CUDA=ON, but weft's kernels need architecture 80 or newer, and WEFT_CUDA_ARCHITECTURES has 75\\."
# A toolkit as Python wheels install it: libraries in lib/, without the names that linkers look for.
if nvcc=$(command -v nvcc); then
  toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")") wheels=$scratch/wheels
  mkdir -p "$wheels/lib"
  ln -s "$toolkit"/{include,nvvm} "$wheels/"
  cp -rs "$toolkit/bin" "$wheels/bin"
  for library in "$toolkit"/lib64/libcud{art.so.??,art_static.a,adevrt.a}; do ln -s "$library" "$wheels/lib/"; done
  configure 0 -DWEFT_CUDA=ON -U'CMAKE_CUDA_*' -U'CUDA*' -UWEFT_CUDA_ARCHITECTURES -DCUDAToolkit_ROOT="$wheels"
  matches "$log" '^-- weft: CUDA '
  matches "$scratch/build/CMakeCache.txt" "^CUDA_cudart_LIBRARY:FILEPATH=$wheels/lib/libcudart\\.so\\.1[0-9]$"
fi
echo "dependencies: all as expected"
