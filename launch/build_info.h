// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace weft {

// One line of `weft doctor` or `weft --version`.
struct InfoRow {
  std::string what;
  std::string value;
};

// What this program is and was built with: version, git revision, compiler, what was left out, and the libraries as
// they are found at run time. Needs no launcher and no accelerator.
std::vector<InfoRow> build_rows();
// How several CUDA devices reach each other: a row, or none where there are not several.
std::vector<InfoRow> device_link_rows();
std::string format_rows(const std::vector<InfoRow>& rows);

const char* weft_version();  // "0.2.0"
// "weft 0.2.0" and the rows above: what `weft --version` prints.
std::string version_text();

}  // namespace weft
