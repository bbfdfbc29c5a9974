# SPDX-License-Identifier: Apache-2.0
# Sourced by stages that can be divided. WEFT_LONG_PART is K/N: this process does part K of N.
# shellcheck shell=bash disable=SC2034 # the stages use them
part=${WEFT_LONG_PART%/*} parts=${WEFT_LONG_PART#*/}

# share: the lines of standard input that belong to this part.
share() { awk -v part="$part" -v parts="$parts" 'NR % parts == part % parts'; }
