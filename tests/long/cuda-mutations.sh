#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries every patch of tests/mutations/cuda: cuda-mutations.sh SCRATCH
set -euo pipefail
[[ $(ctest --test-dir build/cpu -N -L cuda) != *cuda.NeedsNvcc* ]] || { echo "CUDA's compiler is not here"; exit 77; }
exec tests/long/mutations.sh "$1" cuda/
