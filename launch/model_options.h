// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/files.h"
#include "checkpoint/safetensors/safetensors.h"
#include "job/loaded_model.h"
#include "launch/command_line/command.h"
#include "parallel/mesh_layout.h"
#include "parallel/session.h"

namespace weft {

// The options of a command that loads a model: the checkpoint, and the device and layout for it.
struct ModelArguments {
  std::string checkpoint;
  bool best = false;
  bool json = false;
  MeshLayout replica;  // --tp: the axes that divide one replica
  DeviceChoice device = DeviceChoice::Auto;
  ComputeOptions compute;

  // --checkpoint (required), --best, --device, and --json if there is a help for it.
  void add_to(Command& command, const char* json_help);
  // --weights
  void add_weights_to(Command& command);
  // --tp; `divided` names the data that the replicas of the model share out: "lines".
  void add_tp_to(Command& command, const std::string& divided);

  // Called on all ranks. Under a launcher a watchdog enforces `budgets`; a process alone has no peers to wait for.
  Session open(const PhaseBudgets& budgets = {}) const;
  LoadedModel load(Session& session) const;
  // Opens a session, loads the model and runs `body` on every rank, under the time budgets of the model's job.
  ExitCode run(const std::function<void(Session& session, const LoadedModel& loaded)>& body) const;
};

// --best: of a run directory, the checkpoint of the best evaluation instead of the latest.
void add_best_option(Command& command, bool& best);

// The arguments of a command that writes a checkpoint's model elsewhere: CHECKPOINT OUT [--best].
struct CheckpointCopyArguments {
  std::string checkpoint, out;
  bool best = false;

  // `what`: what OUT becomes, "directory".
  void add_to(Command& command, const char* what);
  fs::path found() const;  // the checkpoint, of a run directory the latest or the best
};

// --dtype of a command that writes weights for other programs.
struct StoredTypeArgument {
  std::string name;

  void add_to(Command& command);
  std::optional<StoredType> type() const;  // nullopt: as the weights were imported
};

// Throws ConfigError with `hint` unless the model was trained for this task.
void require_task(const LoadedModel& loaded, Task task, const std::string& hint);

}  // namespace weft
