# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests that run several ranks on simulated devices: TEST WEFT SIMULATED SCRATCH
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use them
weft=$1 simulated=$2 scratch=$3
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../launch/common.sh"
begin_in "$scratch"
export OMPI_MCA_mpi_yield_when_idle=1 # there may be more ranks than processors
