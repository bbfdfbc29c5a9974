#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a processor that lacks what it was compiled for, weft says so and exits; one that was compiled for every processor
# computes there. QEMU plays the processors. usage: processor_test.sh WEFT
set -euo pipefail
weft=$(realpath "$1")
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
command -v qemu-x86_64 >/dev/null || { echo "there is no qemu-x86_64" && exit 77; }
cd /
on() { qemu-x86_64 -cpu "$1" "$weft" doctor; }

compiled=$("$weft" doctor | sed -nE 's/^processor level .*\((.*)\)$/\1/p')
case $compiled in
  'compiled for v2 alone') expect_match 0 '^processor level +v2 ' -- on Nehalem ;;
  compiled*)
    refused 2 'compiled for another processor: it needs [a-z0-9.]+, which the processor here does not have' 'WEFT_NATIVE=OFF' -- \
      on Nehalem
    ;;
  *)
    expect_match 0 '^processor level +v2 ' '^matrix products +oneDNN [0-9.]+ sse41$' -- on Nehalem
    expect_match 0 '^processor level +v3 ' '^matrix products +oneDNN [0-9.]+ avx2$' -- on Haswell
    ;;
esac
echo "processor: $compiled"
