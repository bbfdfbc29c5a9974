#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the public files that some tests read: tests/fetch_data.sh [FOLDER]
#
#   tests/fetch_data.sh /data/weft           into that folder; export WEFT_TEST_DATA=/data/weft tells the tests of it
#   tests/fetch_data.sh                      into the folder that WEFT_TEST_DATA names
#   tests/fetch_data.sh --from URL [FOLDER]  from a mirror that has the files by their paths, such as file:///data/weft
#   tests/fetch_data.sh --list FILE ...      the files of another list than tests/public_data.txt
#
# A file that is there with the right content is not fetched again. A file is checked by its sha256 before it gets its name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
list=tests/public_data.txt from='' folder=${WEFT_TEST_DATA:-}
while (($#)); do
  case $1 in
    --from | --list)
      (($# > 1)) || { echo "fetch_data.sh: $1 needs a value" >&2 && exit 2; }
      if [[ $1 == --from ]]; then from=$2; else list=$2; fi
      shift
      ;;
    -h | --help)
      sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' tests/fetch_data.sh
      exit 0
      ;;
    -*) echo "fetch_data.sh: there is no option $1" >&2 && exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
[[ $folder ]] || { echo "fetch_data.sh: name a folder, or set WEFT_TEST_DATA to one" >&2 && exit 2; }
command -v curl >/dev/null || { echo "fetch_data.sh: curl is needed (Debian: apt-get install curl)" >&2 && exit 2; }

# hash_of FILE: the sha256 of what the address gives, though the file may be kept compressed.
hash_of() { if [[ $kept == gzip ]]; then gzip -dc "$1" 2>/dev/null; else cat "$1"; fi | sha256sum | cut -d ' ' -f 1; }

# fetch FILE: fetches it in the form in which it is kept. A mirror has this form already.
fetch() {
  local address=$url
  [[ -z $from ]] || address=$from/$path
  curl -fsSL --retry 3 -o "$1" "$address" || return
  if [[ -z $from && $kept == gzip ]]; then gzip -n9 <"$1" >"$1.gz" && mv "$1.gz" "$1"; fi
}

failed=0
while read -r hash path url kept; do
  [[ -z $hash || $hash == '#'* ]] && continue
  target=$folder/$path
  if [[ -f $target && $(hash_of "$target") == "$hash" ]]; then
    echo "$path: is there"
    continue
  fi
  mkdir -p "$(dirname "$target")"
  new=$(mktemp "$target.XXXXXX")
  if ! fetch "$new"; then
    echo "$path: cannot be fetched from ${from:-$url}" >&2
    failed=1
  elif found=$(hash_of "$new") && [[ $found != "$hash" ]]; then
    echo "$path: its sha256 is $found, not $hash: it is not kept" >&2
    failed=1
  else
    chmod 644 "$new"
    mv "$new" "$target"
    echo "$path: fetched"
  fi
  rm -f "$new"
done <"$list"
exit $failed
