#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fetch_data.sh on files of this machine: right ones arrive, wrong ones leave nothing. usage: ... SCRATCH
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
fail() {
  echo "line ${BASH_LINENO[0]}: $*"
  cat out
  exit 1
}
fetch() { "$root/tests/fetch_data.sh" --list "$PWD/list" "$@" >out 2>&1; }

WEFT_TEST_DATA='' fetch && fail "there is no folder"
fetch "$PWD/data" || fail "the files are not fetched"
cmp data/a/plain.txt source/plain.txt || fail "another text"
cmp <(zcat data/a/packed.txt.gz) source/packed.txt || fail "another packed text"
[[ $(stat -c %a data/a/plain.txt) == 644 ]] || fail "others cannot read it"
rm source/plain.txt
fetch "$PWD/data" || fail "what is there is fetched again"
[[ $(grep -c 'is there' out) == 2 ]] || fail "both are there"
fetch --from "file://$PWD/data" "$PWD/mirrored" || fail "a mirror has its files as they are kept"
cmp mirrored/a/packed.txt.gz data/a/packed.txt.gz || fail "another file than the mirror's"

echo damaged >>data/a/plain.txt
fetch "$PWD/data" && fail "a missing source is an error"
grep -q 'a/plain.txt: cannot be fetched' out || fail "it is named"
echo "$(sha data/a/packed.txt.gz) b/wrong.txt file://$PWD/source/wrong.txt" >list
fetch "$PWD/data" && fail "another content is an error"
grep -q 'b/wrong.txt: its sha256 is' out || fail "it is named"
[[ -z $(ls data/b) ]] || fail "something is left: $(ls data/b)"
