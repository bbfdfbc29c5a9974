// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/beginning.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/retention.h"
#include "parallel/agree.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

LastSave save_of(const fs::path& checkpoint) {
  const CheckpointManifest manifest = read_checkpoint_manifest(checkpoint);
  return {.step = manifest.step, .sequence = manifest.sequence};
}

}  // namespace

std::optional<int64_t> step_named_by_command(Communicator& world, const RunDirectory& directory,
                                             const fs::path& named) {
  const std::string step = agree(world, [&] {
    if (!lies_in(named, directory.checkpoints()) || !has_manifest(named)) return std::string();
    try {
      return std::to_string(read_checkpoint_manifest(named).step);
    } catch (const DataError& error) {  // this start does not need it
      log_warning("{}", error.what());
      return std::string();
    }
  });
  return step.empty() ? std::nullopt : std::optional<int64_t>(std::stoll(step));
}

void note_beginning(Communicator& world, const RunDirectory& directory, const Beginning& beginning) {
  if (beginning.checkpoint && beginning.passed_over.empty()) return;
  agree(world, [&] {
    const auto moved = set_aside_damaged(directory.checkpoints(), beginning.passed_over, directory.attempt());
    note_last_save(directory.path(),
                   beginning.checkpoint ? std::optional(save_of(*beginning.checkpoint)) : std::nullopt);
    for (const fs::path& path : moved) log_info("the damaged checkpoint is now {}", path.string());
    return std::string();
  });
}

void set_aside_later_than(Communicator& world, const RunDirectory& directory, const fs::path& checkpoint) {
  agree(world, [&] {
    const fs::path& all = directory.checkpoints();
    note_last_save(directory.path(), lies_in(checkpoint, all) ? std::optional(save_of(checkpoint)) : std::nullopt);
    const std::vector<fs::path> moved = set_aside_later(all, checkpoint, directory.attempt());
    std::vector<std::string> names;
    for (const fs::path& path : moved) names.push_back(path.filename());
    if (!names.empty()) {
      log_info("checkpoints that were saved after {} are set aside: {}", checkpoint.string(), fmt::join(names, ", "));
    }
    return std::string();
  });
}

}  // namespace weft
