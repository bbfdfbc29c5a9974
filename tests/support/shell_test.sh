#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests shell.sh itself: an expectation that holds is silent, another one ends the test with 1 and prints place and reason.
# Nothing here is checked with the functions under test.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# ends_with STATUS PIECE...: runs the test on standard input, whose first line is line 3.
ends_with() {
  local status=0 said piece
  { printf 'set -euo pipefail\nsource %q\n' "$here/shell.sh" && cat; } >a_test.sh
  said=$(bash a_test.sh 2>&1) || status=$?
  for piece in "exit status $1" "${@:2}"; do
    [[ "exit status $status"$'\n'"$said" == *"$piece"* ]] && continue
    printf '%s:%s: expected: %s\ngot: exit status %s\n%s\n' "${BASH_SOURCE[0]}" "${BASH_LINENO[0]}" "$piece" "$status" "$said"
    exit 1
  done
  [[ $1 != 0 || -z $said ]] && return
  printf '%s:%s: something is said: %s\n' "${BASH_SOURCE[0]}" "${BASH_LINENO[0]}" "$said"
  exit 1
}

ends_with 0 <<'END'
same "one" 1 1
different "one" 1 2
contains "text" "a [b] c*" "[b]" "c*"
printf 'one\ntwo\ntwo\n' >text
matches text '^t.o$'
matches text two 2
lacks text 'one two'
tells text 'one two two'
cp text copy
same_files "copies" text copy
expect 0 'a (b)' 'c.d' -- echo 'a (b) c.d'
expect 3 'in the error' -- bash -c 'echo in the error >&2; exit 3'
expect_match 0 '^a+$' '^b$' -- printf 'aa\nb\n'
refused 2 'broken.lines +here' -- bash -c 'printf "broken\nlines\nhere" >&2; exit 2'
expect 0 'handed on' -- cat <<<'handed on'
prints_no 'out|err'
refused 4 -- bash -c 'exit 4'
run bash -c 'echo out; echo err >&2; exit 5'
[[ $status == 5 && $(<"$stdout") == out && $(<"$stderr") == err ]]
END

# Each kind of expectation fails with its own words.
ends_with 1 'FAILED: a_test.sh:3: a reason' <<<'fail "a reason"'
ends_with 1 $'FAILED: a_test.sh:3: sum\nexpected: 3\ngot:      4' <<<'same sum 3 4'
ends_with 1 $'a_test.sh:3: sum\nexpected: anything but 3' <<<'different sum 3 3'
ends_with 1 $'a_test.sh:3: text\nexpected: [a]\ngot:      a' <<<'contains text a "" "[a]"'
ends_with 1 $'a_test.sh:4: text: 1 lines match: a\nexpected: 2\ngot:      a' <<<$'echo a >text\nmatches text a 2'
ends_with 1 $'text: 0 lines match: b\nexpected: 1 or more\ngot:      a' <<<$'echo a >text\nmatches text b'
ends_with 1 $'text: 1 lines match: a\nexpected: 0' <<<$'echo a >text\nlacks text a'
ends_with 1 $'text\nexpected: b.a\ngot:      a' <<<$'printf "a\\nb\\n" >text\ntells text b.a'
ends_with 1 'there is no file no-file' <<<'matches no-file b'
ends_with 1 'there is no file no-file' <<<'lacks no-file b'
ends_with 1 '-a' '+b' 'a_test.sh:4: copies: one and two differ' <<<$'echo a >one; echo b >two\nsame_files copies one two'
ends_with 1 $'echo a\nexpected: exit status 1\ngot:      exit status 0' 'stdout' <<<'expect 1 -- echo a'
ends_with 1 $'echo a.b\nexpected: a?b\ngot:      a.b' <<<'expect 0 "a?b" -- echo a.b'
ends_with 1 $'expected: b\ngot:      a' <<<'expect 0 a b -- echo a'
ends_with 1 $'expected: ^b' <<<'expect_match 0 "^b" -- echo ab'
ends_with 1 $'expected: a b' <<<'expect_match 0 "a b" -- printf "a\nb\n"'
ends_with 1 $'expected: a\ngot:      a' <<<'refused 0 a -- echo a'
ends_with 1 '/stdout: 1 lines match: ^a' <<<$'run echo ab\nprints_no ^a'
ends_with 1 '/stderr: 1 lines match: ^a' <<<$'run cat a-file\necho ab >"$stderr"\nprints_no ^a'

# The lines in a test's own functions, and the files that the test asks to show.
ends_with 1 'FAILED: a_test.sh:6: a_test.sh:4: wrong' <<'END'
checked() {
  fail "wrong"
}
checked
END
ends_with 1 'the last lines of b.log' 'what b says' <<<$'shown=("*.log")\necho what b says >b.log\nfail so'

# Everything that a test began is ended, the last first, however the test ends.
for how in 'exit 0' 'fail so' 'false'; do
  rm -f ended
  ends_with "$([[ $how == 'exit 0' ]] && echo 0 || echo 1)" <<END
at_end eval 'printf 1 >>"$folder/ended"'
at_end eval 'printf "%s" "2 " >>"$folder/ended"'
begin_in_temporary
echo "\$PWD" >"$folder/temporary"
$how
END
  [[ $(<ended) == '2 1' && ! -e $(<temporary) ]] || { echo "$how: left: $(cat ended)"; exit 1; }
done
echo "shell: all as expected"
