// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/average.h"

#include <memory>

#include "base/log.h"
#include "base/progress.h"
#include "launch/commands.h"

namespace weft {

void add_average_command(Command& app, Action& action) {
  Command command = app.add_command(
      "average",
      "Write a checkpoint whose weights are the mean of several of one run. It can be evaluated, not resumed.",
      Workers::OneProcess);
  command.footer(
      "  weft average runs/NAME --last-epochs 10 --out runs/mean\n"
      "  weft average runs/NAME/checkpoints/step-* --out runs/mean\n"
      "Which checkpoints a run keeps: checkpoint.keep_last and checkpoint.keep_epochs of its job.");
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  auto last = std::make_shared<int64_t>(0);
  command.add_option("checkpoints", *inputs, "Checkpoints, or a run directory").required().type_name("DIR");
  command.add_option("--out", *output, "The checkpoint directory to write; it must not exist")
      .required()
      .type_name("DIR");
  command.add_option("--last-epochs", *last, "With a run directory: its last N checkpoints from the end of an epoch");
  command.on_parsed([=, &action] {
    action = [=] {
      const std::vector<fs::path> paths = checkpoints_to_average({inputs->begin(), inputs->end()}, *last);
      average_checkpoints(paths, *output);
      log_info("{}: the mean of {}, {} to {}", *output, counted(std::ssize(paths), "checkpoint"),
               paths.front().string(), paths.back().string());
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
