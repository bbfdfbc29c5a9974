#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what only a machine with a CUDA device shows of this build, in one call of less than ten minutes and without
# a network: tests, compute-sanitizer, training steps of GPT-2's four sizes with every operation beside its limit, and
# PyTorch's on the same model. Writes one JSON, which bench/table.py sets beside the predictions (bench/predict.sh).
#
#   bench/gpu.sh --out bench/results/NAME.json
#   bench/gpu.sh --help
#
# It measures build/cpu, or if that does not exist the programs on the PATH: a build that was carried to a machine
# without compilers.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/cuda/measure.py" "$@"
