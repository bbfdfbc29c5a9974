#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy 19 on sources as a build compiles them: tests/style/tidy.sh [options] [FILE...]
#
# Without files: those that changed since the commit in tests/style/tidy_base, the latest first. A header stands for the
# .cpp file beside it. Moving a file, or changing its #include lines or lines that are comments, is no change.
#
#   --all          every source that the build compiles, CUDA's .cu files excepted
#   --list         prints the names of the files, and looks at none
#   --at-most N    no more than N files (30); the output says how many are left to ./launch/test.sh --long tidy
#   --build DIR    the build whose compile_commands.json is used (build/cpu)
#   --jobs N       processes at once (as many as there are processors)
#
# .clang-tidy lists the checks. A finding is a line that begins with FILE:LINE. Exits with 1 if there is one, and with
# 77 if clang-tidy-19 is missing or this is no git repository. Once the whole tree is clean, tidy_base can move on:
#   tests/style/tidy.sh --all && git rev-parse HEAD >tests/style/tidy_base
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/tools.sh"

all=false list=false limit=30 build=build/cpu jobs=$(nproc) files=()
while (($#)); do
  case $1 in
    --all) all=true ;;
    --list) list=true ;;
    --at-most | --build | --jobs)
      (($# > 1)) || { echo "tidy.sh: $1 needs a value" >&2 && exit 2; }
      case $1 in
        --at-most) limit=$2 ;;
        --build) build=$2 ;;
        --jobs) jobs=$2 ;;
      esac
      shift
      ;;
    -h | --help)
      sed -n '3,/^set/{/^set/d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*)
      echo "tidy.sh: there is no option $1" >&2
      exit 2
      ;;
    *) files+=("$1") ;;
  esac
  shift
done
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is not here" && exit 77; }
begin_at_root
commands=$build/compile_commands.json
[[ -f $commands ]] || { echo "there is no $commands: configure first (cmake --preset cpu)" >&2 && exit 2; }
if grep -q '/Unity/unity_' "$commands"; then
  # It says nothing of single files: the same build without WEFT_UNITY does, and need only be configured.
  mapfile -t settings < <(cmake -LA -N "$build" | sed -nE 's/^((WEFT_[A-Z_]+|CMAKE_BUILD_TYPE):[A-Z]+=)/-D\1/p')
  cmake -S . -B "$build/single-files" -G Ninja "${settings[@]}" -DWEFT_UNITY=OFF >"$build/single-files.log" 2>&1 ||
    { cat "$build/single-files.log" >&2 && exit 2; }
  build=$build/single-files
  commands=$build/compile_commands.json
fi
build=$(cd "$build" && pwd)

# Prints the commit to compare with. A shallow clone may lack the one of tidy_base; then only the last commit counts as changed.
base_commit() {
  local base
  base=$(<tests/style/tidy_base)
  if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
    echo "commit $base of tests/style/tidy_base is not in this clone: only the last commit is looked at" >&2
    base=$(git rev-parse --verify --quiet HEAD~1) || base=$(git rev-parse HEAD)
  fi
  echo "$base"
}

# code_changes diff|log COMMITS: the sources and headers of `git diff` or `git log` with another change than a new name,
# includes or comments. git prints "ADDED DELETED NAME" for a file; for a renamed file it prints no name there, but the old
# and the new name in the two records that follow.
code_changes() {
  git "$@" -z --numstat --diff-filter=d --find-renames -l0 -I '^#include ' -I '^ *//' --ignore-blank-lines -- '*.cpp' '*.h' |
    tr '\0' '\n' |
    awk -F'\t' '
      NF == 3 && $3 != "" { if ($1 + $2 > 0) print $3; next }
      NF == 3 { changed = $1 + $2; names = 2; next }
      --names == 0 && changed > 0'
}

# Prints names of files in the order of their last change: uncommitted files, then commit by commit back to $1.
latest_first() {
  code_changes diff HEAD
  code_changes log --format= "$1"..HEAD
}

# sources_of: for each .cpp file and header in standard input, the .cpp file to check.
sources_of() { sed -E 's/\.h$/.cpp/' | awk '!seen[$0]++'; }

# compiled: the lines of standard input that name a file which the build compiles.
compiled() { grep -xF -f <(sed -nE "s#^ *\"file\": \"$PWD/(.*\.cpp)\",?\$#\1#p" "$commands") || true; }

if ((${#files[@]} == 0)); then
  if $all; then
    mapfile -t files < <(tracked '*.cpp' | compiled)
  else
    base=$(base_commit)
    mapfile -t files < <(latest_first "$base" | { grep -xF -f <(code_changes diff "$base") || true; } | sources_of | compiled)
  fi
fi
left=0
if ! $all && ((${#files[@]} > limit)); then
  left=$((${#files[@]} - limit))
  files=("${files[@]:0:limit}")
fi

if $list; then
  ((${#files[@]} == 0)) || printf '%s\n' "${files[@]}"
  exit 0
fi
((${#files[@]})) || { echo "nothing has changed that clang-tidy looks at" && exit 0; }
# Rooms are compiled with links to their headers: a finding names the header itself.
status=0
printf '%s\0' "${files[@]}" | xargs -0 -r -n 1 -P "$jobs" clang-tidy-19 --quiet -p "$build" 2>&1 |
  sed -E "/^[0-9]+ warnings? (generated|treated as errors?)/d; s#^$build/include/[^/]*/##; s#^$PWD/##" || status=1
echo "clang-tidy looked at ${#files[@]} files"
((left == 0)) || echo "$left more have changed: they are left to ./launch/test.sh --long tidy"
exit $status
