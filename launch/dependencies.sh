#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the libraries that weft needs and cmake does not find into a folder of your own, without root:
#
#   launch/dependencies.sh [--tests] PREFIX [-- ARGUMENTS-OF-CMAKE]
#   launch/dependencies.sh --fetch-only FOLDER              fetches all archives, for a machine without a network
#   launch/dependencies.sh --archives FOLDER [--tests] PREFIX [-- ARGUMENTS-OF-CMAKE]
#
#   --archives FOLDER   take the archives from the folder, and nothing from the network
#   --fetch-only FOLDER fetch what launch/archives.txt lists into the folder, and build nothing
#   --tests             GoogleTest too, which the tests need
#
# It asks cmake what is missing, with the arguments after "--" (such as -DHDF5_ROOT=DIR), and builds only that: fmt, spdlog,
# yaml-cpp, CLI11, nlohmann-json, PCRE2, utf8proc, xxHash, zlib, zstd and GoogleTest from source, about two minutes on two cores;
# oneDNN is Intel's build for GNU OpenMP, a Python wheel. Every archive is checked by its sha256. What is finished stays: run
# it again after an interruption. At the end it prints how to configure weft.
#
# MPI, HDF5 and CUDA are not built, since they belong to a cluster's network, file systems and drivers: load their modules
# first. A compiler (g++ 12 or later) and cmake 3.22 or later are needed too; `python3 -m pip install --user cmake ninja`
# installs cmake without root.
set -euo pipefail
called_from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/common.sh
table=launch/archives.txt

prefix='' archives='' fetch_only='' tests=OFF arguments=()
while (($#)); do
  case $1 in
    -h | --help) say_usage && exit ;;
    --archives | --fetch-only)
      [[ -n ${2:-} && $2 != -* ]] || fail "$1 needs a folder"
      if [[ $1 == --archives ]]; then archives=$2; else fetch_only=$2; fi
      shift
      ;;
    --tests) tests=ON ;;
    --)
      arguments=("${@:2}")
      break
      ;;
    -*) fail "there is no option $1 (--help lists them); arguments of cmake follow --" ;;
    *)
      [[ -z $prefix ]] || fail "one folder, not $prefix and $1: arguments of cmake follow --"
      prefix=$1
      ;;
  esac
  shift
done
absolute() { if [[ $1 == /* ]]; then echo "$1"; else echo "$called_from/$1"; fi; }
[[ -z $fetch_only || -z $prefix$archives ]] || fail "--fetch-only builds nothing: give it no other folder"
[[ -n $prefix || -n $fetch_only ]] || { say_usage >&2 && fail "name the folder to install into"; }

# rows [NAME]: the table's rows, of one library if it is named.
rows() { awk -v name="${1:-}" '!/^#/ && NF == 5 && (name == "" || $1 == name)' "$table"; }

# is_right FILE SHA256: fails if there is no such file; an archive with another checksum ends the script.
is_right() {
  local found
  [[ -f $1 ]] || return 1
  found=$(sha256sum <"$1")
  found=${found%% *}
  [[ $found == "$2" ]] || fail "$1 is not the archive that $table lists: its sha256 is $found, not $2. It is damaged, or" \
    "another version: delete it and fetch it again (launch/dependencies.sh --fetch-only FOLDER)"
}

# download FOLDER FILE ADDRESS
download() {
  echo "Fetching $2"
  case $3 in
    pip:*) python3 -m pip download --quiet --no-deps --dest "$1" "${3#pip:}" ;;
    *)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$1/$2.part" "$3"
      else
        wget -q -O "$1/$2.part" "$3"
      fi && mv "$1/$2.part" "$1/$2"
      ;;
  esac || fail "$2 cannot be fetched from $3. On a machine that has a network: launch/dependencies.sh --fetch-only FOLDER;" \
    "copy the folder here, and run this again with --archives FOLDER"
}

# archives_of NAME FOLDER: prints the archives that make the library, checked; fetches those that may be fetched.
archives_of() {
  local name version sha file address missing=() whole=()
  while read -r name version sha file address; do
    if [[ $address == - ]]; then
      # The same sources as Debian keeps them, instead of what is missing.
      if ((${#missing[@]})) && is_right "$2/$file" "$sha"; then
        echo "$2/$file"
        return
      fi
    elif is_right "$2/$file" "$sha"; then
      whole+=("$2/$file")
    elif [[ -z $archives ]]; then
      download "$2" "$file" "$address" >&2
      is_right "$2/$file" "$sha" || fail "$2/$file: nothing came"
      whole+=("$2/$file")
    else
      missing+=("$file")
    fi
  done < <(rows "$1")
  ((${#missing[@]} == 0)) || fail "$archives lacks ${missing[*]}, for $1: launch/dependencies.sh --fetch-only FOLDER fetches" \
    "it where there is a network"
  printf '%s\n' "${whole[@]}"
}

if [[ -n $fetch_only ]]; then
  fetch_only=$(absolute "$fetch_only")
  mkdir -p "$fetch_only"
  while read -r name; do archives_of "$name" "$fetch_only" >/dev/null; done < <(rows | awk '!seen[$1]++ { print $1 }')
  echo "All archives of $table are in $fetch_only, checked. Now: launch/dependencies.sh --archives $fetch_only PREFIX"
  exit
fi
prefix=$(absolute "$prefix")
[[ -z $archives ]] || archives=$(absolute "$archives")
[[ -z $archives || -d $archives ]] || fail "there is no folder $archives"
command -v cmake >/dev/null || fail "cmake is needed (3.22 or later): load its module, or python3 -m pip install --user cmake ninja"
work=$prefix/weft-build
mkdir -p "$work" || fail "nothing can be written to $prefix: choose a folder of your own"

# Sets missing to the names of what cmake does not find, and keeps its lines in ask.log.
ask_cmake() {
  local log=$work/ask.log status=0
  cmake -S . -B "$work/ask" -DCMAKE_PREFIX_PATH="$prefix" -DWEFT_CUDA=OFF -DWEFT_TESTS=$tests "${arguments[@]}" \
    >"$log" 2>&1 || status=$?
  mapfile -t missing < <(sed -nE 's/^weft needs ([^:]+): .*/\1/p; s/^-- weft: without (zstd) .*/\1/p' "$log")
  ((status == 0 || ${#missing[@]})) || { cat "$log" >&2 && fail "cmake fails for another reason than a missing library"; }
}

# with_cmake FOLDER ARGUMENT...: builds and installs a library that has a CMakeLists.txt. It is linked into programs, so that
# these run wherever they are copied.
with_cmake() {
  local source=$1
  cmake -S "$source" -B "$source/weft-build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${@:2}" &&
    cmake --build "$source/weft-build" --parallel "$(build_jobs)" --target install
}

# make_library NAME FOLDER: builds the sources in the folder and installs them.
make_library() {
  case $1 in
    fmt) with_cmake "$2" -DFMT_TEST=OFF -DFMT_DOC=OFF ;;
    spdlog) with_cmake "$2" -DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF ;;
    yaml-cpp) with_cmake "$2" -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF ;;
    CLI11) with_cmake "$2" -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF ;;
    nlohmann-json) with_cmake "$2" -DJSON_BuildTests=OFF ;;
    PCRE2) with_cmake "$2" -DPCRE2_SUPPORT_JIT=ON -DPCRE2_BUILD_TESTS=OFF -DPCRE2_BUILD_PCRE2GREP=OFF ;;
    utf8proc) with_cmake "$2" ;;
    xxHash) with_cmake "$2/cmake_unofficial" -DXXHASH_BUILD_XXHSUM=OFF ;;
    zlib) # Debian's archive lacks a file that its CMakeLists.txt names
      (cd "$2" && CFLAGS='-O3 -fPIC' ./configure --static --prefix="$prefix" && make -j "$(build_jobs)" libz.a && make install)
      ;;
    zstd) with_cmake "$2/build/cmake" -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF ;;
    GoogleTest) with_cmake "$2" ;;
    oneDNN) # the files of a wheel are those of a prefix, with copies for links
      cp -R "$work/$1"/onednn*.data/data/* "$prefix/" && ln -sf libdnnl.so.3.2 "$prefix/lib/libdnnl.so.3" &&
        ln -sf libdnnl.so.3 "$prefix/lib/libdnnl.so"
      ;;
    *) fail "launch/dependencies.sh does not know how to build $1" ;;
  esac
}

# build_library NAME: unpacks, builds and installs it; its output is in a log.
build_library() {
  local name=$1 log=$work/$1.log began=$SECONDS found archive folders
  found=$(archives_of "$name" "${archives:-$work}")
  rm -rf "${work:?}/$name" && mkdir -p "$work/$name"
  while read -r archive; do (cd "$work/$name" && cmake -E tar xf "$archive"); done <<<"$found"
  folders=("$work/$name"/*/)
  (make_library "$name" "${folders[0]%/}") >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "$name cannot be built (all of its output is in $log)"
  }
  rm -rf "${work:?}/$name"
  echo "$name: built in $((SECONDS - began)) s"
}

ask_cmake
wanted=" ${missing[*]} " built=0
while read -r name version; do
  [[ $wanted == *" $name "* ]] || continue
  ((built++)) || say "What cmake does not find, into $prefix"
  build_library "$name"
done < <(rows | awk '!seen[$1]++ { print $1, $2 }')
((built == 0)) || ask_cmake
if ((${#missing[@]})); then
  grep -E '^weft needs ' "$work/ask.log" >&2 || true
  fail "still missing: ${missing[*]}. MPI and HDF5 are not built here: load their modules (module load openmpi hdf5), or say" \
    "where they are (-- -DMPI_CXX_COMPILER=FILE -DHDF5_ROOT=DIR), and run this again"
fi
rm -rf "$work"
((built)) || echo "Nothing is missing: cmake finds every library that weft needs."
say "Now configure and build weft"
[[ $tests == ON ]] || arguments+=(-DWEFT_TESTS=OFF)
line=(cmake --preset cpu -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON "${arguments[@]}")
echo "${line[*]@Q}" | sed -E "s/'([A-Za-z0-9_.,:=/+-]*)'/\\1/g"
echo 'cmake --build build/cpu --target weft'
