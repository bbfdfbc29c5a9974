// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace weft::test {

// Reads bytes as a job, writes the job and reads it again, which must give the same job, and checks it. False if
// a ConfigError refused it; any other exception, or a memory error, is a bug.
bool reads_yaml(std::span<const uint8_t> bytes);
// The same for the lines "a.b=value" before the first empty line, as overrides of the job that follows it.
bool reads_overrides(std::span<const uint8_t> bytes);
// The same for files that extend one another, 0.yaml to 7.yaml in one folder, of which the first is read: a line "%%"
// ends a file.
bool reads_extends(std::span<const uint8_t> bytes);
// The same for a job that a checkpoint of any version stores.
bool reads_stored_job(std::span<const uint8_t> bytes);

}  // namespace weft::test
