#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/check_skips.sh on logs as ctest writes them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WEFT_TEST_DATA=$work/data
mkdir "$work/data"

cat >"$work/expected" <<'END'
# a comment
without-data:text/a.txt  Reader.*
always                   Broken.OnPurpose
END
log() { # the tests that did not run
  {
    echo '100% tests passed, 0 tests failed out of 30'
    echo
    echo 'The following tests did not run:'
    printf '\t%s\n' "$@"
    echo
    echo 'Total Test time (real) =   1.00 sec'
  } >"$work/log"
}
expect() { # STATUS TEXT
  local status=0 output
  output=$("$root/tests/check_skips.sh" "$work/log" "$work/expected" 2>&1) || status=$?
  if [[ $status != "$1" || $output != *"$2"* ]]; then
    echo "line ${BASH_LINENO[0]}: status $status and output: $output"
    exit 1
  fi
}

printf '100%% tests passed, 0 tests failed out of 30\n' >"$work/log"
expect 0 ''
log '1 - Reader.ReadsText (Skipped)' '12 - Broken.OnPurpose (Disabled)'
expect 0 '2 skipped, as'
log '3 - Other.Test/4 (Skipped)' '4 - Reader.ReadsText (Skipped)'
expect 1 'Other.Test/4'
mkdir "$work/data/text"
touch "$work/data/text/a.txt" # now the data is there: no reason to skip
log '1 - Reader.ReadsText (Skipped)'
expect 1 'Reader.ReadsText'
# Who runs the tests is a reason too.
if ((EUID == 0)); then me=root other=user; else me=user other=root; fi
printf '%s  Root.Only\n%s  Nobody.Else\n' "$me" "$other" >>"$work/expected"
log '1 - Root.Only (Skipped)'
expect 0 '1 skipped, as'
log '1 - Nobody.Else (Skipped)'
expect 1 'Nobody.Else'
echo 'sometimes Reader.*' >>"$work/expected"
log '1 - Reader.ReadsText (Skipped)'
expect 2 'unknown condition sometimes'
echo "check_skips: all as expected"
