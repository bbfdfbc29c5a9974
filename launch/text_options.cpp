#include "launch/text_options.h"

#include "base/error.h"
#include "launch/device_option.h"
#include "launch/weights_option.h"

namespace weft {

void TextArguments::add_to(CLI::App& command) {
  command.add_option("--checkpoint", checkpoint, "A run directory (its latest checkpoint) or a checkpoint")->required();
  command.add_flag("--best", best, "Of a run directory, the checkpoint with the lowest validation loss");
  search.add_to(command);
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

}  // namespace weft
