// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "parallel/communicator.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_directory.h"

namespace weft {

// What a start leaves in the directory of its run, for the starts after it. Collective; rank 0 reads and writes.

// The step of the checkpoint that the command names, if it is one of this run's. Retention must not remove it: the same
// command may come again before a save.
std::optional<int64_t> step_named_by_command(Communicator& world, const RunDirectory& directory, const fs::path& named);

// run.json names what the next start must find: neither damaged checkpoints, which are set aside, nor those of a run
// that begins from scratch.
void note_beginning(Communicator& world, const RunDirectory& directory, const Beginning& beginning);

// The run has gone back to `checkpoint`: those that were saved after it are set aside.
void set_aside_later_than(Communicator& world, const RunDirectory& directory, const fs::path& checkpoint);

}  // namespace weft
