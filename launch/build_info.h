// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// One line of `weft doctor` or `weft --version`.
struct InfoRow {
  std::string what;
  std::string value;
};

// The version, git revision and compiler of this program, the features that it was built without, and the libraries
// that are found at run time. Needs no launcher and no accelerator.
std::vector<InfoRow> build_rows();
// The links between CUDA devices: one row, or no row if there are not several devices.
std::vector<InfoRow> device_link_rows();
std::string format_rows(const std::vector<InfoRow>& rows);

const char* weft_version();  // "0.2.0"
// "weft 0.2.0" and build_rows(), which `weft --version` prints.
std::string version_text();
// What made a file: the version, the git revision and the host.
nlohmann::ordered_json program_origin();

}  // namespace weft
