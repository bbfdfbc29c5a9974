# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it: messages, the packages that the scripts need, and calls of cmake and mpirun.
# shellcheck shell=bash

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# The comment at the beginning of the script that was called.
say_usage() { sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' "launch/${0##*/}"; }

# install_missing_packages LIST...: installs the packages of the lists that are missing, as root or with sudo; does
# nothing if none is.
install_missing_packages() {
  local lists=("$@") name why missing=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "No apt here: what ${lists[*]} names must be there already; what needs it says so."
    return
  fi
  while read -r name why; do
    [[ -z $name || $name == '#'* ]] && continue
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] && continue
    ((${#missing[@]})) || say "Debian packages that are missing, and what they are for"
    printf '  %-20s %s\n' "$name" "$why"
    missing+=("$name")
  done < <(cat "${lists[@]}")
  ((${#missing[@]})) || return 0
  local root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "not root, and no sudo: let an administrator run: apt-get install ${missing[*]}"
    root=(sudo)
    echo "They are installed with sudo, which may ask for your password."
  fi
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# install_cudnn_frontend FOLDER: installs the headers that describe plans of cuDNN, if there is a compiler for CUDA.
# They come as a Python wheel. If that cannot be installed, weft is built without cuDNN, which nothing requires.
install_cudnn_frontend() {
  local folder=$1 version=1.32.0
  command -v nvcc >/dev/null || return 0
  [[ -d $folder/nvidia_cudnn_frontend-$version.dist-info ]] && return 0
  say "Headers of cudnn-frontend $version, into $folder"
  rm -rf "$folder"
  if python3 -m pip install --quiet --no-deps --target "$folder" "nvidia-cudnn-frontend==$version"; then
    rm -rf "$folder/cudnn" # the part for Python, 90 MB
    return
  fi
  rm -rf "$folder"
  echo "They cannot be had (no network, or no pip): weft is built without cuDNN."
}

# install_arrow FOLDER: unpacks Arrow's C++ library there, by which weft reads Parquet. It comes as a Python wheel, of which
# the headers and two libraries are kept. If it cannot be had, weft is built without Parquet, which nothing requires.
install_arrow() {
  local folder=$1 version=26.0.1 sum=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
  local wheel=pyarrow-$version-cp311-cp311-manylinux_2_28_x86_64.whl
  [[ -d $folder/pyarrow-$version.dist-info ]] && return 0
  say "Arrow $version, into $folder"
  rm -rf "$folder"
  if python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --platform manylinux_2_28_x86_64 \
    --dest "$folder" "pyarrow==$version" && [[ $(sha256sum <"$folder/$wheel") == "$sum  -" ]] &&
    (cd "$folder" && cmake -E tar xf "$wheel" pyarrow/include "pyarrow/libarrow.so.*" "pyarrow/libparquet.so.*" \
      "pyarrow-$version.dist-info"); then
    rm "$folder/$wheel"
    return
  fi
  rm -rf "$folder"
  echo "It cannot be had (no network, no pip, or another file): weft is built without Parquet."
}

# The number of compiler processes: one per processor, but not more than memory can hold (1.5 GB each).
build_jobs() {
  local processors memory
  processors=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null || echo "$processors")
  ((memory < 1)) && memory=1
  echo $((processors < memory ? processors : memory))
}

# Whether this machine has a CUDA device: its driver's file in FOLDER, or nvidia-smi lists one (WSL has no such file).
sees_cuda_device() { compgen -G "${1:-/dev}/nvidia[0-9]*" >/dev/null || nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

# cuda_setting BUILD [FOLDER]: the setting of cmake by which a build for this machine has the CUDA backend, or has not.
# WEFT_CUDA decides if it is set. The backend takes most of a build's time, so without a device a new build goes without
# it; a folder that was built before keeps what it has.
cuda_setting() {
  if [[ ${WEFT_CUDA:-} ]]; then
    echo "-DWEFT_CUDA=$WEFT_CUDA"
  elif sees_cuda_device "${2:-/dev}"; then
    echo -DWEFT_CUDA=AUTO
  elif [[ ! -e $1/CMakeCache.txt ]]; then
    echo -DWEFT_CUDA=OFF
  fi
}

# build PRESET [-DNAME=VALUE...] TARGET...: configures build/PRESET with these settings and builds the targets there. A new
# folder compiles several files of a room or test at once (WEFT_UNITY), which is faster the first time.
build() {
  local preset=$1 log=build/$1/configure.log settings=()
  shift
  while [[ ${1-} == -D* ]]; do
    settings+=("$1")
    shift
  done
  [[ -e build/$preset/CMakeCache.txt ]] || settings=(-DWEFT_UNITY=ON "${settings[@]}")
  mkdir -p "build/$preset"
  if ! cmake --preset "$preset" "${settings[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    fail "cmake cannot configure build/$preset"
  fi
  grep -E '^-- weft:' "$log" | sed 's/^-- //' || true
  cmake --build "build/$preset" --parallel "$(build_jobs)" --target "$@"
}

# Sets the array MPIRUN to a command that starts $1 ranks here. By default Open MPI refuses root, and more ranks than it
# counts cores; options allow either only if necessary. Ranks are not bound, so that their threads spread.
choose_mpirun() {
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  local flags
  for flags in "" --use-hwthread-cpus --oversubscribe; do
    # shellcheck disable=SC2206 # one word or none
    MPIRUN=(mpirun -np "$1" --bind-to none $flags)
    "${MPIRUN[@]}" true >/dev/null 2>&1 && return
  done
  "${MPIRUN[@]}" true || fail "mpirun cannot start $1 ranks here"
}
