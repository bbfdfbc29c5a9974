#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills runs at many instants while they write checkpoints: kills.sh SCRATCH
set -euo pipefail
scratch=$1
export WEFT_KILLS=400
[[ -z $WEFT_LONG_SHORT ]] || WEFT_KILLS=5
build/cpu/tests/checkpoint/checkpoint_test --gtest_filter='Kill.*' --gtest_brief=1
echo "kills-of-a-process $WEFT_KILLS" >&3
WEFT_KILLS=$(((WEFT_KILLS + 19) / 20)) tests/launch/kill_save_test.sh "$PWD/build/cpu/weft" "$scratch/ranks"
echo "kills-of-a-rank $(((WEFT_KILLS + 19) / 20))" >&3
