# SPDX-License-Identifier: Apache-2.0
# Sourced by every shell test: functions that state expectations. An expectation that fails prints the line of the test,
# the expected and the actual value, and the test ends with 1. No test defines others (tests/style/lint.sh).
# shellcheck shell=bash

# shellcheck disable=SC2034 # the tests use it: the repository, whose jobs are in configs/
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# What the last command of run, expect, expect_match or refused printed, and its exit status.
outputs=$(mktemp -d) status=0
stdout=$outputs/stdout stderr=$outputs/stderr
# A test names the files here whose last lines explain a failure; patterns, expanded at the failure.
shown=(log)

# at_end COMMAND...: runs the command when the test ends, before the commands that were given earlier.
ends=()
at_end() { ends=("$(printf '%q ' "$@")" "${ends[@]}"); }
run_ends() {
  local command
  for command in "${ends[@]}"; do eval "$command" || true; done
}
trap run_ends EXIT
at_end rm -rf "$outputs"

# begin_in FOLDER: works there from now on, after deleting what an earlier run left.
begin_in() { rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit 1; }

# begin_in_temporary: works in a new folder, which is deleted with the test.
begin_in_temporary() {
  local folder
  folder=$(mktemp -d)
  at_end rm -rf "$folder"
  cd "$folder" || exit 1
}

# Prints the lines of the test that are being run: the line in its body, and those in the functions that it called.
place() {
  local i words=
  for ((i = ${#BASH_SOURCE[@]} - 1; i > 0; i--)); do
    [[ ${BASH_SOURCE[i]} == "${BASH_SOURCE[0]}" ]] || words+="${BASH_SOURCE[i]#"$root/"}:${BASH_LINENO[i - 1]}: "
  done
  echo "$words"
}

# fail WORDS...: ends the test with these words, the place, and the files to show.
fail() {
  local file
  {
    echo "FAILED: $(place)$*"
    # shellcheck disable=SC2068 # patterns of names
    for file in "$stdout" "$stderr" ${shown[@]}; do
      [[ -f $file && -s $file ]] || continue
      echo "--- the last lines of $file"
      tail -n 40 "$file"
    done
  } >&2
  exit 1
}

# same WHAT EXPECTED GOT
same() { [[ $2 == "$3" ]] || fail "$1"$'\nexpected: '"$2"$'\ngot:      '"$3"; }

# different WHAT UNEXPECTED GOT
different() { [[ $2 != "$3" ]] || fail "$1"$'\nexpected: anything but '"$2"; }

# contains WHAT TEXT PIECE...: each piece occurs in the text.
contains() {
  local piece
  for piece in "${@:3}"; do
    [[ $2 == *"$piece"* ]] || fail "$1"$'\nexpected: '"$piece"$'\ngot:      '"$2"
  done
}

# same_files WHAT EXPECTED GOT: two files or folders are equal.
same_files() { diff -ru "$2" "$3" >&2 || fail "$1: $2 and $3 differ"; }

# matches FILE PATTERN [COUNT]: a line matches the extended regular expression; with COUNT, that many lines do.
matches() {
  local count
  [[ -f $1 ]] || fail "there is no file $1"
  count=$(grep -acE -- "$2" "$1") || true
  [[ ${3:-} == "$count" || ($# -lt 3 && $count -gt 0) ]] ||
    fail "$1: $count lines match: $2"$'\nexpected: '"${3:-1 or more}"$'\ngot:      '"$(tail -n 40 "$1")"
}

# lacks FILE PATTERN: no line matches.
lacks() { matches "$1" "$2" 0; }

# tells FILE PATTERN: as `matches`, but the text may break its lines within the match.
tells() { says_in "$1" "$2" || fail "$1"$'\nexpected: '"$2"$'\ngot:      '"$(tail -n 40 "$1")"; }
says_in() { grep -qzE -- "$2" <(tr '\n' ' ' <"$1"); }

# run COMMAND...: sets status; the output is in the files $stdout and $stderr.
run() {
  status=0
  "$@" >"$stdout" 2>"$stderr" || status=$?
}

# The three functions below: FUNCTION STATUS EXPECTED... -- COMMAND... runs the command, which must end with the status and
# print everything that is expected.
#   expect         texts, anywhere in the output
#   expect_match   extended regular expressions, each of which matches a line of the output
#   refused        extended regular expressions, in standard error, whose lines may break within a match
expect() { run_expecting contains_text "$@"; }
expect_match() { run_expecting matches_line "$@"; }
refused() { run_expecting tells_error "$@"; }

# prints_no PATTERN: no line that the last command printed matches.
prints_no() {
  lacks "$stdout" "$1"
  lacks "$stderr" "$1"
}

contains_text() { grep -qFe "$1" "$stdout" "$stderr"; }
matches_line() { grep -qEe "$1" "$stdout" "$stderr"; }
tells_error() { says_in "$stderr" "$1"; }

run_expecting() {
  local how=$1 expected=$2 wanted=() each
  shift 2
  while [[ $1 != -- ]]; do
    wanted+=("$1")
    shift
  done
  shift
  run "$@"
  ((status == expected)) || fail "$*"$'\nexpected: exit status '"$expected"$'\ngot:      exit status '"$status"
  for each in "${wanted[@]}"; do
    "$how" "$each" || fail "$*"$'\nexpected: '"$each"$'\ngot:      '"$(cat "$stdout" "$stderr")"
  done
}
