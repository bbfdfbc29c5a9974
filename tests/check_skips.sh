#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the tests that ctest says did not run with those that may skip: tests/check_skips.sh CTEST_LOG EXPECTED
# EXPECTED holds lines "condition  name-pattern": see tests/expected_skips.txt. Exits 1 for a skip that is not declared.
set -euo pipefail
log=$1 expected=$2
data=${WEFT_TEST_DATA:-$(dirname "${BASH_SOURCE[0]}")/../../shared/data}

# holds CONDITION: is this machine one where the test may skip?
holds() {
  case $1 in
    always) return 0 ;;
    root) ((EUID == 0)) ;;
    user) ((EUID != 0)) ;;
    without-data:*) [[ ! -e $data/${1#without-data:} ]] ;;
    without-file:*) [[ ! -e ${1#without-file:} ]] ;;
    without-command:*) ! command -v "${1#without-command:}" >/dev/null ;;
    without-mounts) ! can_mount ;;
    without-networks) ! can_make_network ;;
    without-cpu:*) ! grep -qw "${1#without-cpu:}" /proc/cpuinfo ;;
    *)
      echo "$expected: unknown condition $1" >&2
      exit 2
      ;;
  esac
}

# Whether this user may mount a file system in a namespace of the process.
can_mount() {
  local at
  at=$(mktemp -d)
  unshare -m mount -t tmpfs none "$at" 2>/dev/null || unshare -rm mount -t tmpfs none "$at" 2>/dev/null
  local status=$?
  rmdir "$at"
  return $status
}

can_make_network() {
  ((EUID == 0)) && ip netns add "weft-try-$$" 2>/dev/null && ip netns delete "weft-try-$$"
}

declared() {
  local name=$1 condition pattern
  while read -r condition pattern; do
    [[ -z $condition || $condition == '#'* ]] && continue
    # shellcheck disable=SC2053 # a pattern
    [[ $name == $pattern ]] && holds "$condition" && return 0
  done <"$expected"
  return 1
}

surprises=0 skipped=0
while read -r name; do
  skipped=$((skipped + 1))
  declared "$name" && continue
  ((surprises++)) || echo "Skipped, though $expected does not say that they may here:"
  echo "  $name"
done < <(sed -nE '/^The following tests did not run:/,/^$/s/^[[:space:]]*[0-9]+ - (.*) \((Skipped|Disabled)\)$/\1/p' "$log")

((surprises == 0)) || exit 1
((skipped == 0)) || echo "$skipped skipped, as $expected declares."
