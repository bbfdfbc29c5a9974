// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as a job, writes it out and reads that: the same job, which then is checked. Whether it is a job: false
// where a ConfigError refused it; anything else that is thrown, or done to memory, is a bug.
bool reads_yaml(std::span<const uint8_t> bytes);

}  // namespace weft::test
