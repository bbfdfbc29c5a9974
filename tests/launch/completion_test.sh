#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the completions and the manual page that weft writes about itself. usage: completion_test.sh WEFT bash|zsh|man
set -euo pipefail
weft=$(realpath "$1")
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
begin_in_temporary

# complete_words WORD...: what bash offers for the last word, sorted.
complete_words() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _weft || true
  printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

# The words that begin with two dashes in the help of a command.
options_of() { "$weft" "$1" --help | sed -nE 's/^  (-[a-z0-9,-]+).*/\1/p' | tr , '\n' | grep -e -- | sort -u; }

"$weft" completion bash >script
# shellcheck disable=SC1091 # written one line above
source ./script
complete_words "$weft" '' | tr ' ' '\n' | grep '^[a-z]' >commands
(($(wc -l <commands) >= 20)) || fail "only these commands: $(cat commands)"

case $2 in
  bash)
    same "what bash calls" "complete -o bashdefault -o default -F _weft weft" "$(complete -p weft)"
    same "commands" "train translate " "$(complete_words "$weft" tra)"
    same "options" "--device " "$(complete_words "$weft" evaluate --dev)"
    same "values of an option" "cpu cuda " "$(complete_words "$weft" evaluate --device c)"
    same "values after an equals sign" "cpu cuda " "$(complete_words "$weft" evaluate --device = c)"
    same "jobs" "sample-gpt sample-translation " "$(complete_words "$weft" jobs sample-)"
    same "keys of a job" "train.max_steps= " "$(complete_words "$weft" train job.yaml --set train.max_st)"
    same "files are left to bash" " " "$(complete_words "$weft" train job.y)"
    while read -r command; do
      same "options of $command" "$(options_of "$command")" "$(complete_words "$weft" "$command" -- | tr ' ' '\n' | grep .)"
    done <commands
    ;;
  zsh)
    command -v zsh >/dev/null || { echo "zsh is not here" && exit 77; }
    "$weft" completion zsh >_weft
    zsh -n _weft
    # shellcheck disable=SC2016 # zsh expands it
    same "what zsh calls" _weft "$(zsh -fc 'autoload -Uz compinit; fpath=($PWD $fpath); compinit -u -D; print $_comps[weft]')"
    while read -r command; do
      for option in $(options_of "$command"); do matches _weft "^ +'\*$option\["; done
    done <commands
    ;;
  man)
    "$weft" manual >weft.1
    command -v groff >/dev/null || { echo "groff is not here" && exit 77; }
    groff -man -Tutf8 -ww weft.1 >page 2>warnings
    same "groff's warnings" '' "$(cat warnings)"
    sed -E 's/\x1b\[[0-9;]*m//g; s/.\x08//g' page >text
    tells text 'weft .* distributed training of transformers'
    while read -r command; do
      matches text "^ +weft $command\$"
      for option in $(options_of "$command"); do matches text "^ +(-[a-z,-]+,)?$option"; done
    done <commands
    ;;
  *) fail "usage: completion_test.sh WEFT bash|zsh|man" ;;
esac
echo "$2: as expected"
