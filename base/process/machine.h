// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

namespace weft {

// The processor's name as the system gives it ("AMD EPYC 9654"), or "unknown".
std::string processor_name();

// The most memory that this process has held at once, in bytes, its libraries' included.
size_t peak_resident_bytes();

}  // namespace weft
