#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules for every tracked file: tests/style/lint.sh [--fix] [CHECK...], all checks if none is named.
#
#   format    C++ and CUDA sources are formatted as by clang-format 14 (.clang-format); --fix rewrites those that are not
#   shell     shellcheck finds nothing in any shell script (.shellcheckrc)
#   fixture   shell tests state their expectations with the functions of tests/support/shell.sh, and define no others
#   licence   every source names its licence in its first line, or in the second after "#!"; NOTICE names files that exist
#
# A finding is a line that begins with FILE:LINE. Exits with 1 if there is one, and with 77 if a check could not be made
# here: its program is missing, or this is not a git repository. Continuous integration and pre-commit call this script.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/tools.sh"

fix=false checks=()
for argument in "$@"; do
  case $argument in
    --fix) fix=true ;;
    format | shell | fixture | licence) checks+=("$argument") ;;
    -h | --help)
      sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      echo "lint.sh: there is no check $argument; there are format, shell, fixture and licence" >&2
      exit 2
      ;;
  esac
done
((${#checks[@]})) || checks=(format shell fixture licence)
begin_at_root

# The files that begin with "#!" and a shell, whatever their name, and the files that other scripts source.
shell_scripts() {
  {
    tracked '*.sh' '*.sbatch'
    git grep -nIE '^#!.*[/ ](ba|da)?sh\b' | sed -nE 's/^([^:]*):1:.*/\1/p' || true
  } | sort -u
}

check_format() {
  local program how=(--dry-run -Werror)
  program=$(clang_format) || return 77
  ! $fix || how=(-i)
  tracked '*.h' '*.cpp' '*.cu' '*.cuh' | in_parallel "$program" "${how[@]}"
}

check_shell() {
  command -v shellcheck >/dev/null || { echo "shellcheck is not here" && return 77; }
  shell_scripts | in_parallel shellcheck --format=gcc
}

# A test that exits with 1 itself, or in a function of its own, does not print what it expected and what it got.
check_fixture() {
  local names found status=0
  names=$(tracked tests/support/shell.sh | xargs -r sed -nE 's/^([a-z_]+)\(\).*/\1/p' | paste -sd '|')
  names="($names|(assert|check|must|says?|want)(_[a-z_]+)?) *\(\)"
  while IFS=: read -r found; do
    echo "$found: a test states what it expects with the functions of tests/support/shell.sh"
    status=1
  done < <(tracked 'tests/*.sh' | grep -E '(_test|common)\.sh$' | grep -v '^tests/support/' |
    xargs -r grep -nHE "^ *(function )?$names|^ *exit 1$|exit 1; *\}")
  return "$status"
}

check_licence() {
  local file first second line status=0
  while IFS= read -r file; do
    first='' second=''
    { IFS= read -r first && IFS= read -r second; } <"$file" || true
    [[ $first != '#!'* ]] || first=$second
    [[ $first =~ SPDX-License-Identifier:\ (Apache-2\.0|Unicode-3\.0)$ ]] && continue
    echo "$file:1: no licence: begin it with the line SPDX-License-Identifier: Apache-2.0, as a comment"
    status=1
  done < <({ shell_scripts; tracked '*.h' '*.cpp' '*.cu' '*.cuh' '*.inc' '*.py' '*.cmake' '*CMakeLists.txt'; } | sort -u)
  while IFS=: read -r line file; do
    compgen -G "$file" >/dev/null && continue
    echo "NOTICE:$line: there is no $file"
    status=1
  done < <(tracked NOTICE | xargs -r grep -noE '[A-Za-z_]+/[A-Za-z0-9_/.*-]*[A-Za-z0-9_*]')
  return "$status"
}

found=0 missing=0
for check in "${checks[@]}"; do
  status=0
  case $check in
    format) check_format || status=$? ;;
    shell) check_shell || status=$? ;;
    fixture) check_fixture || status=$? ;;
    licence) check_licence || status=$? ;;
  esac
  case $status in
    0) echo "$check: nothing found" ;;
    77) missing=77 ;;
    *) found=1 ;;
  esac
done
((found)) && exit 1
exit $missing
