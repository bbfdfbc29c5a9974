// SPDX-License-Identifier: Apache-2.0
#include "launch/model_options.h"

#include "base/error.h"
#include "checkpoint/locate.h"
#include "launch/command_line/choice_option.h"

namespace weft {

void ModelArguments::add_to(Command& command, const char* json_help) {
  command.add_option("--checkpoint", checkpoint, "Checkpoint, or run directory (its latest checkpoint)")
      .required()
      .type_name("DIR");
  add_best_option(command, best);
  add_device_option(command, device);
  if (json_help) command.add_flag("--json", json, json_help);
}

void ModelArguments::add_weights_to(Command& command) { add_weights_option(command, compute.weights); }

void ModelArguments::add_tp_to(Command& command, const std::string& divided) {
  command
      .add_option("--tp", replica.tp,
                  fmt::format("Under MPI: ranks per replica of the model; replicas divide the {}", divided))
      .positive()
      .show_default();
}

Session ModelArguments::open(const PhaseBudgets& budgets) const {
  return Session(replica, among_ranks(budgets), device);
}

LoadedModel ModelArguments::load(Session& session) const {
  return load_model(session.context(), session.mesh(), checkpoint, best, {}, compute);
}

ExitCode ModelArguments::run(const std::function<void(Session& session, const LoadedModel& loaded)>& body) const {
  Session session = open();
  return session.run([&] {
    const LoadedModel loaded = load(session);
    session.set_budgets(loaded.job.timeouts);
    body(session, loaded);
    return ExitCode::Done;
  });
}

void add_best_option(Command& command, bool& best) {
  command.add_flag("--best", best, "With a run directory: the checkpoint of the best evaluation");
}

void CheckpointCopyArguments::add_to(Command& command, const char* what) {
  command.add_option("checkpoint", checkpoint, "Checkpoint, or run directory (its latest checkpoint)")
      .required()
      .type_name("DIR");
  command.add_option("out", out, fmt::format("The {} to write; it must not exist", what)).required().type_name("DIR");
  add_best_option(command, best);
}

fs::path CheckpointCopyArguments::found() const { return resolve_checkpoint(checkpoint, best); }

void StoredTypeArgument::add_to(Command& command) {
  command.add_option("--dtype", name, "Type of the weights (default: f32, or bf16 if they were imported as bf16)")
      .type_name("FORMAT")
      .one_of({"f32", "bf16"});
}

std::optional<StoredType> StoredTypeArgument::type() const {
  if (name.empty()) return std::nullopt;
  return name == "bf16" ? StoredType::BF16 : StoredType::F32;
}

void require_task(const LoadedModel& loaded, Task task, const std::string& hint) {
  if (loaded.job.task == task) return;
  throw ConfigError(fmt::format("{} holds a {} model", loaded.path.string(), enum_name(loaded.job.task)), hint);
}

}  // namespace weft
