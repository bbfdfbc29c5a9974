// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/rollback.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/manifest.h"
#include "checkpoint/reader.h"
#include "checkpoint/run_state.h"

namespace weft {

std::string last_good_checkpoint(const fs::path& checkpoints) {
  std::pair<int64_t, std::string> last{-1, ""};
  for (const fs::path& path : committed_directories(checkpoints)) {
    try {
      const CheckpointManifest manifest = read_checkpoint_manifest(path);
      if (run_state_of(manifest, path).skips_in_row > 0) continue;
      last = std::max(last, {manifest.sequence, path.string()});
    } catch (const IoError&) {
      throw;
    } catch (const AccessError&) {
      throw;  // a user who may read it goes back no further than to it
    } catch (const DataError& error) {
      log_warning("{} is passed over: {}", path.string(), error.what());
    }
  }
  return last.second;
}

}  // namespace weft
