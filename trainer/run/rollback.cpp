// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/rollback.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "job/run_state.h"

namespace weft {

std::string last_good_checkpoint(const fs::path& checkpoints) {
  std::pair<int64_t, std::string> last{-1, ""};
  for (const fs::path& path : committed_directories(checkpoints)) {
    const CheckpointManifest manifest = read_checkpoint_manifest(path);
    if (run_state_from(manifest.state, path.string()).skips_in_row > 0) continue;
    last = std::max(last, {manifest.sequence, path.string()});
  }
  return last.second;
}

int64_t set_aside_number(const fs::path& checkpoints, int64_t attempt) {
  constexpr std::string_view kMark = ".before-";
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename();
    const size_t at = name.rfind(kMark);
    if (at == std::string::npos) continue;
    attempt = std::max<int64_t>(attempt, std::atoll(name.c_str() + at + kMark.size()) + 1);
  }
  return attempt;
}

}  // namespace weft
