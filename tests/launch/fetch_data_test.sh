#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests tests/fetch_data.sh on files of this machine: right ones arrive, wrong ones leave nothing. usage: ... SCRATCH
set -euo pipefail
scratch=$1
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v curl >/dev/null || { echo "no curl: tests/packages.txt names its package" && exit 77; }
begin_in "$scratch"
mkdir source
printf 'some text\n' >source/plain.txt
printf 'more text\n' >source/packed.txt
printf 'other text\n' >source/wrong.txt
sha() { sha256sum <"$1" | cut -d ' ' -f 1; }
{
  echo '# a remark'
  echo "$(sha source/plain.txt) a/plain.txt file://$PWD/source/plain.txt"
  echo "$(sha source/packed.txt) a/packed.txt.gz file://$PWD/source/packed.txt gzip"
} >list
fetch=("$root/tests/fetch_data.sh" --list "$PWD/list")
fails() { ! "$@"; } # the command has an exit status other than 0

WEFT_TEST_DATA='' expect 0 -- fails "${fetch[@]}" # there is no folder
expect 0 -- "${fetch[@]}" "$PWD/data"
same_files "a file" data/a/plain.txt source/plain.txt
zcat data/a/packed.txt.gz >unpacked
same_files "a packed file" unpacked source/packed.txt
same "who may read it" 644 "$(stat -c %a data/a/plain.txt)"
rm source/plain.txt
expect 0 -- "${fetch[@]}" "$PWD/data" # a file that is there is not fetched again
same "files that are there" 2 "$(cat "$stdout" "$stderr" | grep -c 'is there')"
expect 0 -- "${fetch[@]}" --from "file://$PWD/data" "$PWD/mirrored"
same_files "a mirror's file, packed as it is kept" mirrored/a/packed.txt.gz data/a/packed.txt.gz

echo damaged >>data/a/plain.txt
expect 0 'a/plain.txt: cannot be fetched' -- fails "${fetch[@]}" "$PWD/data"
echo "$(sha data/a/packed.txt.gz) b/wrong.txt file://$PWD/source/wrong.txt" >list
expect 0 'b/wrong.txt: its sha256 is' -- fails "${fetch[@]}" "$PWD/data"
same "what is left" '' "$(ls data/b)"
