# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests beside it: a repository to try lint.sh and tidy.sh on.
# shellcheck shell=bash
# shellcheck source=tests/style/tools.sh
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"

# begin_repository FOLDER CONFIGURATION...: makes an empty repository with weft's files of those names.
begin_repository() {
  unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # a hook sets them for the repository that it belongs to
  begin_in "$1"
  git init -q
  for file in "${@:2}"; do cp "$root/$file" .; done
}

commit() {
  git add -A
  git -c user.name=weft -c user.email=weft@localhost -c commit.gpgsign=false commit -q --no-verify -m "$1"
}
