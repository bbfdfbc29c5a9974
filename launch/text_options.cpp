// SPDX-License-Identifier: Apache-2.0
#include "launch/text_options.h"

#include "base/error.h"
#include "base/mpi.h"
#include "launch/choice_option.h"

namespace weft {

void TextArguments::add_to(CLI::App& command) {
  add_model_to(command);
  search.add_to(command);
}

void TextArguments::add_model_to(CLI::App& command) {
  command.add_option("--checkpoint", checkpoint, "A run directory (its latest checkpoint) or a checkpoint")->required();
  command.add_flag("--best", best, "Of a run directory, the checkpoint of the best evaluation");
  add_weights_option(command, compute.weights);
  add_device_option(command, device);
  command.add_flag("--json", json, "One JSON object a text");
}

LoadedModel TextArguments::load(Context& context, Mesh& mesh, Task task) const {
  LoadedModel loaded = load_model(context, mesh, checkpoint, best, {}, compute);
  if (loaded.job.task != task) {
    throw ConfigError(fmt::format("{} holds a {} model", loaded.path.string(), enum_name(loaded.job.task)),
                      task == Task::Translation ? "use weft generate" : "use weft translate");
  }
  return loaded;
}

void LineArguments::add_to(CLI::App& command) {
  command
      .add_option("--batch-lines", batch_lines,
                  "Lines that each replica of the model reads at a time; what was read is printed before more is")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str();
  command.add_option("--tp", replica.tp, "Under MPI: ranks that share the model; the others divide the lines")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

ExitCode LineArguments::run(const TextArguments& text,
                            const std::function<void(Session& session, const LoadedModel& loaded)>& body) const {
  std::optional<PhaseBudgets> budgets;  // one process alone can be seen to hang
  if (find_launcher().present) budgets = PhaseBudgets{};
  Session session(replica, budgets, text.device);
  return session.run([&] {
    const LoadedModel loaded = text.load(session.context(), session.mesh(), Task::Translation);
    PhaseBudgets patient = loaded.job.timeouts;
    patient.init_seconds = 0;
    session.set_budgets(patient);
    body(session, loaded);
    return ExitCode::Done;
  });
}

}  // namespace weft
