// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"
#include "evaluate/attention_files.h"
#include "launch/commands.h"
#include "launch/json_line.h"
#include "launch/model_options.h"

namespace weft {
namespace {

struct AttentionArguments {
  ModelArguments model;
  std::vector<std::string> texts;
};

ExitCode attention(const AttentionArguments& a) {
  require<ConfigError>(a.texts.size() <= 2, "{} texts; give a text, or a text and its translation", a.texts.size());
  Session session = Session::alone(a.model.device);
  const LoadedModel loaded = a.model.load(session);
  const auto translation = a.texts.size() == 2 ? std::optional(a.texts[1]) : std::nullopt;
  const TextAttention found = text_attention(loaded, a.texts[0], translation);
  if (a.model.json) print(json_line(attention_json(found)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void add_attention_command(Command& app, Action& action) {
  Command command =
      app.add_command("attention", "Where a model looks: the attention of each layer and head.", Workers::OneProcess);
  auto a = std::make_shared<AttentionArguments>();
  command.footer("  weft attention 'The animal crossed the street' --checkpoint runs/NAME\n");
  command.add_option("texts", a->texts, "A text; or a source and its translation").required().type_name("TEXT");
  a->model.add_to(command, "One JSON object on standard output");
  command.on_parsed([=, &action] { action = [=] { return attention(*a); }; });
}

}  // namespace weft
