// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "exchange/ct2/export.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/model_options.h"

namespace weft {

void add_export_ct2_command(Command& app, Action& action) {
  Command command = app.add_command(
      "export-ct2", "Export a checkpoint as a model of CTranslate2, which serves language and translation models.",
      Workers::OneProcess);
  command.footer(
      "  weft export-ct2 runs/NAME --best served\n"
      "  python -c \"import ctranslate2; print(ctranslate2.Generator('served').generate_batch([['In', 'Ġa']]))\"\n"
      "A Generator reads a language model, a Translator a translation model. Texts are tokens there: served has the\n"
      "vocabulary, and tokenizer.json if it can describe the tokenizer. What CTranslate2 would compute otherwise is\n"
      "refused by name (docs/huggingface.md).");
  auto copy = std::make_shared<CheckpointCopyArguments>();
  auto dtype = std::make_shared<StoredTypeArgument>();
  copy->add_to(command, "directory");
  dtype->add_to(command);
  command.on_parsed([=, &action] {
    action = [=] {
      const fs::path path = copy->found();
      const std::string written = export_ct2(path, copy->out, dtype->type(), program_origin());
      log_info("{}: the {} of {}", copy->out, written, path.string());
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
