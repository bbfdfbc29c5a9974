# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests beside it: a repository to try lint.sh and tidy.sh on.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"

fail() {
  echo "FAILED: $*"
  exit 1
}

# begin_repository FOLDER CONFIGURATION...: an empty one, with weft's files of those names.
begin_repository() {
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # a hook sets them for the repository that it belongs to
  rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit 1
  git init -q
  for file in "${@:2}"; do cp "$root/$file" .; done
}

commit() {
  git add -A
  git -c user.name=weft -c user.email=weft@localhost -c commit.gpgsign=false commit -q --no-verify -m "$1"
}

# expect STATUS TEXT COMMAND...: it ends with the status and prints the text.
expect() {
  local status=0 output
  output=$("${@:3}" 2>&1) || status=$?
  [[ $status == "$1" && $output == *"$2"* ]] || fail "line ${BASH_LINENO[0]}: status $status instead of $1, and: $output"
}
