#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests launch/dependencies.sh with archives of this test and a cmake that only says what it was asked: what is built, and
# what is said when nothing is missing, an archive is damaged or missing, or MPI is not there. The longer proof builds the
# real libraries (tests/long/dependencies.sh).
set -euo pipefail
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in_temporary
script=$root/launch/dependencies.sh table=$root/launch/archives.txt

# The table: five columns; every library is one that cmake names, has a project's archive, and is known to the script.
grep -v '^#' "$table" >entries
same "rows without five columns" '' "$(awk 'NF != 5' entries)"
same "rows without a sha256" '' "$(awk '{ print $3 }' entries | grep -vxE '[0-9a-f]{64}' || true)"
same "names of files, twice" '' "$(awk '{ print $4 }' entries | sort | uniq -d)"
awk '{ print $1 }' entries | sort -u >names
while read -r name; do
  matches "$root/launch/packages.txt" " $name: "
  matches "$root/cmake/WeftDependencies.cmake" "^ *weft_dependency\\($name "
  matches "$script" "^    $name\\) "
  matches "$table" "^$name .* (https|pip):"
done <names
# Only these come from a cluster's modules.
built=$(paste -sd '|' names)
same "what is not built" $'HDF5\nMPI' \
  "$(sed -nE 's/^ *weft_dependency\(([^ ]+) .*/\1/p' "$root/cmake/WeftDependencies.cmake" | grep -vxE "$built" | sort)"

# A copy of the script, with a table and a cmake of this test.
mkdir -p tree/launch bin sources/xxHash-1/cmake_unofficial sources/zstd-1/build/cmake
cp "$script" "$root/launch/common.sh" tree/launch/
for library in xxHash zstd; do tar -C sources -czf "sources/$library.tar.gz" "$library-1"; done
cp sources/zstd.tar.gz sources/zstd-of-debian.tar.gz
echo more >>sources/zstd-of-debian.tar.gz
sha() { sha256sum <"$1" | cut -d ' ' -f 1; }
{
  echo '# A remark.'
  echo "xxHash 1 $(sha sources/xxHash.tar.gz) xxHash.tar.gz file://$PWD/sources/xxHash.tar.gz"
  echo "zstd   1 $(sha sources/zstd.tar.gz) zstd.tar.gz file://$PWD/sources/zstd.tar.gz"
  echo "zstd   1 $(sha sources/zstd-of-debian.tar.gz) zstd-of-debian.tar.gz -"
} >tree/launch/archives.txt
real=$(command -v cmake)
export REAL_CMAKE=$real PLACE=$PWD
cat >bin/cmake <<'END'
#!/usr/bin/env bash
echo "$*" >>"$PLACE/calls"
case "$*" in
  -E*) exec "$REAL_CMAKE" "$@" ;;
  *-DWEFT_CUDA=OFF*)
    while read -r line; do
      name=${line##*needs } name=${name##*without } name=${name%%[: ]*}
      [[ -e $PLACE/installed-$name ]] || { echo "$line" && code=1; }
    done <"$PLACE/missing"
    exit "${code:-0}"
    ;;
  --build*xxHash*) touch "$PLACE/installed-xxHash" ;;
  --build*zstd*) touch "$PLACE/installed-zstd" ;;
esac
END
chmod +x bin/cmake
export PATH=$PWD/bin:$PATH
dependencies() { rm -f calls && "$PWD/tree/launch/dependencies.sh" "$@"; }
lack() { rm -f installed-* && printf '%s\n' "$@" >missing; }
no_xxhash='weft needs xxHash: xxhash.h is not found; install libxxhash-dev (Debian), or say where'
no_zstd='-- weft: without zstd (zstd.h is not found)'
no_mpi='weft needs MPI: not found; install libopenmpi-dev openmpi-bin (Debian), or say which'

expect 0 'launch/dependencies.sh [--tests] PREFIX' 'MPI, HDF5 and CUDA are not built' -- dependencies --help
refused 1 'there is no option --frob' -- dependencies --frob
refused 1 'name the folder to install into' -- dependencies
refused 1 'one folder, not a and b' -- dependencies a b
refused 1 '--archives needs a folder' -- dependencies --archives --tests
refused 1 'there is no folder .*/none' -- dependencies --archives none prefix

lack
: >missing
expect 0 'Nothing is missing' "-DCMAKE_PREFIX_PATH=$PWD/prefix -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON -DHDF5_ROOT=/opt/hdf5 -DWEFT_TESTS=OFF" -- \
  dependencies prefix -- -DHDF5_ROOT=/opt/hdf5
matches calls '^-S \. .* -DWEFT_TESTS=OFF -DHDF5_ROOT=/opt/hdf5$' 1
same "what is left when nothing was built" '' "$(ls prefix)"
expect 0 'Nothing is missing' -- dependencies --tests prefix
matches calls '^-S \. .* -DWEFT_TESTS=ON$' 1
prints_no 'WEFT_TESTS=OFF'

if command -v curl >/dev/null; then
  lack "$no_zstd" "$no_xxhash"
  expect 0 'xxHash: built' 'zstd: built' -- dependencies prefix
  matches calls "^-S $PWD/prefix/weft-build/xxHash/xxHash-1/cmake_unofficial .*-DCMAKE_INSTALL_PREFIX=$PWD/prefix "
  matches calls "^-S $PWD/prefix/weft-build/zstd/zstd-1/build/cmake "
  # A machine with a network fetches for one without.
  expect 0 "All archives of launch/archives.txt are in $PWD/fetched, checked" -- dependencies --fetch-only fetched
  same "what is fetched" $'xxHash.tar.gz\nzstd.tar.gz' "$(ls fetched)"
  mv sources away
  lack "$no_xxhash"
  refused 1 'xxHash.tar.gz cannot be fetched from file:.*--fetch-only FOLDER' -- dependencies prefix
  mv away sources
fi

# From a folder: Debian's archive does as well as the project's. What is missing or damaged is named, with what to do.
mkdir folder
cp sources/xxHash.tar.gz sources/zstd-of-debian.tar.gz folder/
lack "$no_xxhash" "$no_zstd"
expect 0 'xxHash: built' 'zstd: built' -- dependencies --archives folder prefix
rm folder/zstd*
lack "$no_xxhash" "$no_zstd"
refused 1 "$PWD/folder lacks zstd.tar.gz, for zstd: launch/dependencies.sh --fetch-only FOLDER" -- dependencies --archives folder prefix
matches "$stdout" '^xxHash: built'
echo damage >>folder/xxHash.tar.gz
lack "$no_xxhash"
refused 1 "$PWD/folder/xxHash.tar.gz is not the archive .* its sha256 is $(sha folder/xxHash.tar.gz), not $(sha sources/xxHash.tar.gz). .*delete it and fetch it again" -- \
  dependencies --archives folder prefix
prints_no 'xxHash: built'
[[ ! -e installed-xxHash ]] || fail "a damaged archive was built"

# MPI is left to modules, after the rest was built; an error of cmake's own is shown whole.
cp sources/xxHash.tar.gz folder/
lack "$no_mpi" "$no_xxhash"
refused 1 '^weft needs MPI: not found' 'still missing: MPI. .*module load' -- dependencies --archives folder prefix
matches "$stdout" '^xxHash: built'
lack 'CMake Error: the compiler is too old'
refused 1 'the compiler is too old' 'for another reason than a missing library' -- dependencies prefix
echo "dependencies.sh: as it should"
