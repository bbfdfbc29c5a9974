# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it: where they work, the files that they look at, and the programs that they call.
# shellcheck shell=bash

# Works in the root of the git repository that the caller is in.
begin_at_root() {
  local root
  root=$(git rev-parse --show-toplevel 2>/dev/null) || {
    echo "$PWD is not in a git repository (or git does not trust its owner: git config --global --add safe.directory)"
    exit 77
  }
  cd "$root" || exit 1
}

# tracked PATTERN...: the tracked files that are there.
tracked() {
  local file
  while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\n' "$file"
  done < <(git ls-files -z -- "$@")
}

# in_parallel COMMAND...: with the lines of standard input as further arguments, on all processors; 1 if any fails.
in_parallel() { tr '\n' '\0' | xargs -0 -r -n 40 -P "$(nproc)" "$@" || return 1; }

# The name of clang-format 14: others lay code out differently.
clang_format() {
  local name
  for name in clang-format-14 clang-format; do
    [[ $("$name" --version 2>/dev/null) == *'version 14.'* ]] && echo "$name" && return
  done
  echo "clang-format 14 is not here" >&2
  return 1
}
