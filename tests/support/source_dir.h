// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace weft::test {

// The root of the sources from which this build was made.
std::filesystem::path source_dir();

}  // namespace weft::test
