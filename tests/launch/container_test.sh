#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the steps of launch/Containerfile, which no test builds, with those that the longer proof runs on a bare Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/support/shell.sh
steps=$(sed -nE 's/^RUN //p' launch/Containerfile)
same "the steps of launch/Containerfile and of tests/long/install.sh" \
  "$(sed -nE 's/^in_bare ((apt-get|useradd) .*)$/\1/p' tests/long/install.sh)" "$steps"
matches launch/Containerfile '^COPY weft_\*\.deb /weft\.deb$' 1 # where tests/long/install.sh puts the package
matches tests/long/install.sh '/weft\.deb"$'
matches launch/Containerfile '^FROM debian:bookworm$' 1
matches tests/long/install.sh '^debootstrap .* bookworm '
