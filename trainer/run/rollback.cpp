// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/rollback.h"

#include <algorithm>
#include <utility>

#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"

namespace weft {

std::string last_good_checkpoint(const fs::path& checkpoints) {
  std::pair<int64_t, std::string> last{-1, ""};
  for (const fs::path& path : committed_directories(checkpoints)) {
    const CheckpointManifest manifest = read_checkpoint_manifest(path);
    if (run_state_of(manifest, path).skips_in_row > 0) continue;
    last = std::max(last, {manifest.sequence, path.string()});
  }
  return last.second;
}

}  // namespace weft
