// SPDX-License-Identifier: Apache-2.0
#include "launch/line_options.h"

namespace weft {

void LineArguments::add_to(Command& command) {
  model.add_to(command, "One JSON object per text");
  model.add_weights_to(command);
  model.add_tp_to(command, "lines");
  command
      .add_option("--batch-lines", batch_lines,
                  "Lines per replica that are read at a time; their results are printed before more are read")
      .between(1, 1 << 30)
      .show_default();
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
