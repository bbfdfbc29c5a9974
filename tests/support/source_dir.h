// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace weft::test {

// The root of the sources that this build was made of.
std::filesystem::path source_dir();

}  // namespace weft::test
