#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds what weft needs without root, and weft's first rooms with it: dependencies.sh SCRATCH
# An ordinary user runs launch/dependencies.sh into an empty folder, on a view of this machine from which the Debian
# packages of those libraries are missing; compilers, MPI and HDF5 stay, as modules of a cluster would bring them.
# The archives are Debian's sources of the same versions and oneDNN's wheels, or those of the folder that WEFT_ARCHIVES
# names. An archive that is damaged is refused first, and what was built before it is not built again.
set -euo pipefail
scratch=$1
source tests/support/shell.sh
((EUID == 0)) || { echo "not root: the packages of this machine cannot be hidden"; exit 77; }
unshare -m mount -t tmpfs none /mnt 2>/dev/null || { echo "nothing can be mounted here"; exit 77; }
chmod 755 "$scratch" "$(dirname "$scratch")"
archives=$scratch/archives log=$scratch/output
shown=("$log")

# The names of the libraries that are built, and the packages that bring them.
names=$(awk '!/^#/ { print $1 }' launch/archives.txt | sort -u | paste -sd '|')
mapfile -t hidden < <(sed -nE "s/^([a-z0-9][^ ]*) +($names): .*/\1/p" launch/packages.txt)

# Fetches Debian's sources of the packages, from where this machine gets its packages.
fetch_sources() {
  local options new=/etc/apt/sources.list.d/debian.sources
  mkdir -p "$scratch/apt/parts" "$scratch/apt/lists/partial"
  if [[ -e $new ]]; then
    sed -E 's/^Types:.*/Types: deb-src/' $new >"$scratch/apt/parts/debian.sources"
  else
    sed -nE 's/^deb /deb-src /p' /etc/apt/sources.list >"$scratch/apt/parts/debian.list"
  fi
  options=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/apt/parts"
    -o Dir::State::lists="$scratch/apt/lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update -q >/dev/null
  (cd "$archives" && for package in "${hidden[@]}"; do
    [[ $package == libdnnl-dev ]] || apt-get "${options[@]}" source -q --download-only "$package" >/dev/null
  done)
  python3 -m pip download -q --no-deps --dest "$archives" \
    "$(sed -nE 's/.* pip:(onednn-cpu.*)/\1/p' launch/archives.txt)" "$(sed -nE 's/.* pip:(onednn-devel.*)/\1/p' launch/archives.txt)"
}
mkdir -p "$archives" "$scratch/upper" "$scratch/overlay"
if [[ -n ${WEFT_ARCHIVES:-} ]]; then
  cp "$WEFT_ARCHIVES"/* "$archives/"
else
  fetch_sources || { echo "the sources of Debian's packages cannot be fetched here (WEFT_ARCHIVES names a folder that has them)"; exit 77; }
fi
mkdir "$scratch/home"
chown nobody "$scratch/home"

# as_user COMMAND...: runs it as a user who may write to its home alone, where the packages are missing.
cat >"$scratch/as_user" <<'END'
#!/usr/bin/env bash
set -euo pipefail
scratch=$1
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$scratch/upper,workdir=$scratch/overlay" /usr
for package in $2; do
  dpkg -L "$package" | while read -r file; do
    if [[ $file == /usr/* && ( -f $file || -L $file ) ]]; then rm "$file"; fi
  done
done
exec setpriv --reuid=nobody --regid=nogroup --clear-groups env -i HOME="$scratch/home" PATH=/usr/bin:/bin "${@:3}"
END
chmod +x "$scratch/as_user"
as_user() { unshare -m "$scratch/as_user" "$scratch" "${hidden[*]}" "$@" 2>&1 | tee "$log"; }

prefix=$scratch/home/libraries
damaged=$(find "$archives" -name 'libzstd*.orig.tar.xz' -o -name 'zstd-*.tar.gz' | head -n 1)
cp "$damaged" "$scratch/whole"
truncate -s -1 "$damaged"
began=$SECONDS
if as_user launch/dependencies.sh --archives "$archives" --tests "$prefix"; then fail "a damaged archive is accepted"; fi
matches "$log" "$(basename "$damaged" | sed 's/[+.]/\\&/g') is not the archive that launch/archives.txt lists: its sha256 is [0-9a-f]{64}, not "
matches "$log" '^zlib: built in '
cp "$scratch/whole" "$damaged"
as_user launch/dependencies.sh --archives "$archives" --tests "$prefix" || fail "the libraries are not built"
lacks "$log" '^(zlib|fmt|PCRE2): built in ' # nothing is built twice
matches "$log" '^zstd: built in '
echo "seconds $((SECONDS - began))" >&3
echo "libraries $(find "$prefix/lib" -name '*.a' -o -name '*.so' | wc -l)" >&3

# weft is configured by the line that was printed, and tests of rooms that use most of the libraries are built and run.
read -ra line < <(grep '^cmake --preset cpu ' "$log")
as_user cmake -S . -B "$scratch/home/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_UNITY=ON "${line[@]:3}" || fail "weft cannot be configured"
matches "$log" '^-- weft: CPU only'
lacks "$log" '^-- weft: without zstd'
tests=(base/config/config_test data/text/data_text_test)
[[ -z $WEFT_LONG_SHORT ]] || tests=()
for test in "${tests[@]}"; do
  as_user cmake --build "$scratch/home/build" --target "${test##*/}" || fail "${test##*/} cannot be built"
  as_user "$scratch/home/build/tests/$test" --gtest_brief=1 || fail "${test##*/} fails"
  echo "${test##*/} passed" >&3
done
echo "${#hidden[@]} packages were hidden; their libraries were built by an ordinary user, and weft was configured with them"
