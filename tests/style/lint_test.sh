#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh on a repository of the test, in which one file after the other is made wrong: lint_test.sh SCRATCH
# Exits with 77 if clang-format 14 or shellcheck is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/testing.sh"
clang_format >/dev/null || exit 77
command -v shellcheck >/dev/null || { echo "shellcheck is not here" && exit 77; }
begin_repository "$1" .clang-format .shellcheckrc

licence='SPDX-License-Identifier: Apache-2.0'
mkdir room
printf '// %s\nint f();\n' "$licence" >room/good.h
printf '#!/bin/sh\n# %s\ndate\n' "$licence" >good.sh
mkdir -p tests/support tests/room
# shellcheck disable=SC2016 # the script expands it
printf '# %s\n# shellcheck shell=bash\nsame() { [ "$2" = "$3" ]; }\n' "$licence" >tests/support/shell.sh
printf '#!/bin/sh\n# %s\nsame what 1 1\nexit 77\n' "$licence" >tests/room/good_test.sh
commit "good files"
expect 0 'licence: nothing found' -- "$here/lint.sh"

# wrong NAME TEXT FINDING CHECK: expects the check of that name, and no other, to find the file.
wrong() {
  local check
  mkdir -p "$(dirname "$1")"
  printf '%b' "$2" >"$1"
  expect 0 'nothing found' -- "$here/lint.sh" # git does not track the file
  git add "$1"
  expect 1 "$3" -- "$here/lint.sh"
  for check in format shell fixture licence; do
    expect "$([[ $check == "$4" ]] && echo 1 || echo 0)" -- "$here/lint.sh" "$check"
  done
  git rm -qf "$1"
}
wrong room/wide.cpp "// $licence\nint  f() { return 1; }\n" 'room/wide.cpp:2:' format
wrong room/kernel.cu "// $licence\nvoid f( );\n" 'room/kernel.cu:2:' format
wrong unquoted.sh "#!/bin/sh\n# $licence\nrm \$1\n" 'unquoted.sh:3:' shell
wrong room/job.sbatch "#!/usr/bin/env bash\n# $licence\ncd /nowhere\n" 'room/job.sbatch:3:' shell
wrong named-otherwise "#!/usr/bin/env bash\n# $licence\necho \$1\n" 'named-otherwise:3:' shell
wrong tests/room/own_test.sh "#!/bin/sh\n# $licence\nsame() { false; }\n" 'tests/room/own_test.sh:3:' fixture
wrong tests/room/must_test.sh "#!/bin/sh\n# $licence\nmust_say() { false; }\n" 'tests/room/must_test.sh:3:' fixture
wrong tests/room/ends_test.sh "#!/bin/sh\n# $licence\ndate ||\n  exit 1\n" 'tests/room/ends_test.sh:4:' fixture
wrong room/mine.h 'int f();\n' 'room/mine.h:1: no licence' licence
wrong room/table.inc "// Copyright\n// $licence\n" 'room/table.inc:1: no licence' licence
wrong room/CMakeLists.txt 'add_library(x x.cpp)\n' 'room/CMakeLists.txt:1: no licence' licence
wrong NOTICE 'weft\nroom/good.h and room/*.h are here, room/gone.h is not\n' 'NOTICE:2: there is no room/gone.h' licence
wrong empty.py '' 'empty.py:1: no licence' licence

printf '// %s\nint  f();\n' "$licence" >room/good.h
expect 0 'format: nothing found' -- "$here/lint.sh" --fix format
[[ $(<room/good.h) == *'int f();' ]] || fail "--fix did not lay out room/good.h"

expect 2 'there is no check colour' -- "$here/lint.sh" colour
cd "$1" && rm -rf .git
GIT_CEILING_DIRECTORIES=$(dirname "$PWD") expect 77 'not in a git repository' -- "$here/lint.sh"
echo "lint: all as expected"
