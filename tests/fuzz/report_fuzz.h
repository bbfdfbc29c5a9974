// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as the files of a run directory, metrics.jsonl, job.yaml and run.json with a line %% between them, and
// makes what a page of the run holds. False if no line of training counts. Any exception, memory error, or character
// that a browser may take for markup is a bug.
bool reads_report(std::span<const uint8_t> bytes);

}  // namespace weft::test
