// SPDX-License-Identifier: Apache-2.0
#include "job/merge.h"

#include "base/log.h"
#include "checkpoint/locate.h"
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
  auto input = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  auto best = std::make_shared<bool>(false);
  command.add_option("checkpoint", *input, "Checkpoint, or run directory (its latest checkpoint)")
      .required()
      .type_name("DIR");
  command.add_option("out", *output, "The checkpoint directory to write; it must not exist")
      .required()
      .type_name("DIR");
  add_best_option(command, *best);
  command.on_parsed([=, &action] {
    action = [=] {
      const fs::path checkpoint = resolve_checkpoint(*input, *best);
      merge_adapters(checkpoint, *output);
      log_info("{}: the weights of {} with its adapters merged", *output, checkpoint.string());
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
