#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests tests/check_skips.sh on logs as ctest writes them.
set -euo pipefail
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
begin_in_temporary
export WEFT_TEST_DATA=$PWD/data
mkdir data

cat >expected <<'END'
# a comment
without-data:text/a.txt  Reader.*
always                   Broken.OnPurpose
END
log() { # writes a log with the tests that did not run
  {
    echo '100% tests passed, 0 tests failed out of 30'
    echo
    echo 'The following tests did not run:'
    printf '\t%s\n' "$@"
    echo
    echo 'Total Test time (real) =   1.00 sec'
  } >log
}
check_skips=("$root/tests/check_skips.sh" log expected)

printf '100%% tests passed, 0 tests failed out of 30\n' >log
expect 0 -- "${check_skips[@]}"
log '1 - Reader.ReadsText (Skipped)' '12 - Broken.OnPurpose (Disabled)'
expect 0 '2 skipped, as' -- "${check_skips[@]}"
log '3 - Other.Test/4 (Skipped)' '4 - Reader.ReadsText (Skipped)'
expect 1 'Other.Test/4' -- "${check_skips[@]}"
mkdir data/text
touch data/text/a.txt # now the data is there: no reason to skip
log '1 - Reader.ReadsText (Skipped)'
expect 1 'Reader.ReadsText' -- "${check_skips[@]}"
# The user who runs the tests can be a reason too.
if ((EUID == 0)); then me=root other=user; else me=user other=root; fi
printf '%s  Root.Only\n%s  Nobody.Else\n' "$me" "$other" >>expected
log '1 - Root.Only (Skipped)'
expect 0 '1 skipped, as' -- "${check_skips[@]}"
log '1 - Nobody.Else (Skipped)'
expect 1 'Nobody.Else' -- "${check_skips[@]}"
echo 'sometimes Reader.*' >>expected
log '1 - Reader.ReadsText (Skipped)'
expect 2 'unknown condition sometimes' -- "${check_skips[@]}"
echo "check_skips: all as expected"
