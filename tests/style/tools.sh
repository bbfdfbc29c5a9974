# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it: the folder they work in, the files they check, and the programs they call.
# shellcheck shell=bash

# Changes to the root of the git repository that the caller is in.
begin_at_root() {
  local root
  root=$(git rev-parse --show-toplevel 2>/dev/null) || {
    echo "$PWD is not in a git repository (or git does not trust its owner: git config --global --add safe.directory)"
    exit 77
  }
  cd "$root" || exit 1
}

# tracked PATTERN...: prints the tracked files that exist.
tracked() {
  local file
  while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\n' "$file"
  done < <(git ls-files -z -- "$@")
}

# in_parallel COMMAND...: runs it with the lines of standard input as further arguments, on all processors; 1 if any run fails.
in_parallel() { tr '\n' '\0' | xargs -0 -r -n 40 -P "$(nproc)" "$@" || return 1; }

# Prints the name of clang-format 14: other versions lay code out differently.
clang_format() {
  local name
  for name in clang-format-14 clang-format; do
    [[ $("$name" --version 2>/dev/null) == *'version 14.'* ]] && echo "$name" && return
  done
  echo "clang-format 14 is not here" >&2
  return 1
}
