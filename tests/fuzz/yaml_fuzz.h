// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as a job, writes the job and reads it again, which must give the same job, and checks it. False if
// a ConfigError refused it; any other exception, or a memory error, is a bug.
bool reads_yaml(std::span<const uint8_t> bytes);

}  // namespace weft::test
