// SPDX-License-Identifier: Apache-2.0
#include "launch/line_options.h"

namespace weft {

void LineArguments::add_to(CLI::App& command) {
  model.add_to(command, "One JSON object per text");
  model.add_weights_to(command);
  model.add_tp_to(command, "lines");
  command
      .add_option("--batch-lines", batch_lines,
                  "Lines per replica that are read at a time; their results are printed before more are read")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str();
}

ExitCode LineArguments::run(const std::function<void(Session& session, const LoadedModel& loaded)>& body) const {
  return model.run([&](Session& session, const LoadedModel& loaded) {
    require_task(loaded, Task::Translation, "use weft generate");
    PhaseBudgets patient = loaded.job.timeouts;
    patient.init_seconds = 0;
    session.set_budgets(patient);
    body(session, loaded);
  });
}

}  // namespace weft
