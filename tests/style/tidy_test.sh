#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh on a repository of the test: which files count as changed, and the findings in them: tidy_test.sh SCRATCH
# Exits with 77 if clang-tidy-19 is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/testing.sh"
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is not here" && exit 77; }
begin_repository "$1" .clang-tidy

# built FILE...: sets the files that the build of the repository compiles.
built() {
  local file separator=
  mkdir -p build/cpu
  {
    echo "["
    for file in "$@"; do
      printf '%s{\n  "directory": "%s",\n  "command": "c++ -std=c++20 -fopenmp -I. -c %s",\n  "file": "%s"\n}' \
        "$separator" "$PWD" "$file" "$PWD/$file"
      separator=$',\n'
    done
    echo "]"
  } >build/cpu/compile_commands.json
}
# A function of ten lines with a finding in the fourth: a literal that is not a pointer.
with_finding() {
  printf '#include "%s"\n\nint* f(int x) {\n  int* none = 0;\n' "$1"
  printf '  x += %s;\n' 1 2 3 4
  printf '  return x > 9 ? &sum : none;\n}\n'
}
tidy() { "$here/tidy.sh" --jobs 1 "$@"; }

echo 'build/' >.gitignore
mkdir -p tests/style room
echo 'inline int sum = 0;' >room/sum.h
with_finding room/sum.h >room/old.cpp
printf '#include "room/late.h"\nint late() { return kLate; }\n' >room/late.cpp
echo 'constexpr int kLate = 1;' >room/late.h
commit "an old finding"
git rev-parse HEAD >tests/style/tidy_base
commit "the base"
built room/old.cpp room/late.cpp
expect 0 'nothing has changed' -- tidy
expect 1 'room/old.cpp:4:' -- tidy --all
expect 1 'room/old.cpp:4:' -- tidy room/old.cpp

# A file with another comment is not changed, nor is a moved file with another include. A file with one more line is.
echo '// Why the sum is here.' >>room/old.cpp
commit "a comment"
expect 0 'nothing has changed' -- tidy
mkdir moved
git mv room/old.cpp moved/old.cpp
git mv room/sum.h moved/sum.h
with_finding moved/sum.h >moved/old.cpp
commit "moved"
built moved/old.cpp room/late.cpp
expect 0 'nothing has changed' -- tidy
echo 'int g() { return 1; }' >>moved/old.cpp
expect 1 'moved/old.cpp:4:' -- tidy
commit "moved and changed"

# A header is checked if the .cpp file beside it includes it; the latest change comes first.
printf '#pragma once\nconstexpr int kLate = 1;\nconstexpr const char* kNone = 0;\n' >room/late.h
commit "a header"
expect 1 'room/late.h:3:' -- tidy
expect 1 'looked at 2 files' -- tidy
expect 1 'room/late.h:3:' -- tidy --at-most 1
expect 1 '1 more have changed' -- tidy --at-most 1

# A file that the build does not compile is left out.
built room/late.cpp
expect 1 'looked at 1 files' -- tidy

# The base is not in this clone: the last commit counts, and the output says so.
echo 0123456789012345678901234567890123456789 >tests/style/tidy_base
built moved/old.cpp room/late.cpp
expect 1 'is not in this clone' -- tidy
expect 1 'looked at 1 files' -- tidy
expect 2 'there is no nowhere/compile_commands.json' -- tidy --build nowhere
echo "tidy: all as expected"
