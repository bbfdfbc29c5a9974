// SPDX-License-Identifier: Apache-2.0
#include "job/merge.h"

#include "base/log.h"
#include "job/loaded_model.h"
#include "launch/commands.h"
#include "launch/model_options.h"

namespace weft {

void add_merge_command(Command& app, Action& action) {
  Command command = app.add_command(
      "merge", "Write a checkpoint whose weights have a run's adapters (lora) in them: an ordinary model.",
      Workers::OneProcess);
  command.footer(
      "  weft merge runs/NAME runs/NAME-merged\n"
      "  weft merge runs/NAME/checkpoints/step-00000400 merged\n"
      "The result can be evaluated, exported or used as train.init_from, but not resumed.");
  auto copy = std::make_shared<CheckpointCopyArguments>();
  copy->add_to(command, "checkpoint directory");
  command.on_parsed([=, &action] {
    action = [=] {
      const fs::path checkpoint = copy->found();
      merge_adapters(checkpoint, copy->out);
      log_info("{}: the weights of {} with its adapters merged", copy->out, checkpoint.string());
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
