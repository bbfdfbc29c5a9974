// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/locate.h"
#include "exchange/adapter_import.h"
#include "exchange/export.h"
#include "exchange/import.h"
#include "job/loaded_model.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "launch/model_options.h"

namespace weft {

void add_import_command(Command& app, Action& action) {
  Command command = app.add_command("import-hf",
                                    "Import a GPT-2, Llama, Mistral, Qwen, OLMo 2 or MarianMT of Hugging Face as a "
                                    "checkpoint that can be finetuned, ...",
                                    Workers::OneProcess);
  command.footer(
      "  weft import-hf gpt2 models/gpt2 && weft generate --checkpoint models/gpt2 --prompt 'In a hole'\n"
      "DIR has config.json, model.safetensors (or its shards and their index), and tokenizer.json or vocab.json and\n"
      "merges.txt; of a MarianMT source.spm, target.spm and vocab.json. Options that weft's model does not have are\n"
      "refused by name (docs/huggingface.md).");
  auto directory = std::make_shared<std::string>(), out = std::make_shared<std::string>();
  auto base = std::make_shared<std::string>();
  command.add_option("directory", *directory, "Directory that save_pretrained() wrote").required().type_name("DIR");
  command.add_option("out", *out, "The checkpoint directory to write; it must not exist").required().type_name("DIR");
  command.add_option("--base", *base, "DIR has adapters of peft: the checkpoint of the model that they adapt")
      .type_name("DIR");
  command.on_parsed([=, &action] {
    action = [=] {
      if (holds_adapters(*directory) != !base->empty()) {
        throw ConfigError(
            fmt::format("{} holds {}", *directory, base->empty() ? "adapters" : "no adapter_config.json"),
            "weft import-hf ADAPTERS OUT --base CHECKPOINT reads adapters for a model, weft import-hf DIR "
            "OUT a model");
      }
      if (base->empty()) {
        import_hugging_face(*directory, *out, program_origin());
      } else {
        import_adapters(*directory, resolve_checkpoint(*base, false), *out, program_origin());
      }
      log_info("{}: the checkpoint of {}", *out, *directory);
      return ExitCode::Done;
    };
  });
}

void add_export_command(Command& app, Action& action) {
  Command command = app.add_command(
      "export-hf", "Export a checkpoint in Hugging Face's format: as GPT-2, Llama, ..., or MarianMT, whichever it is.",
      Workers::OneProcess);
  command.footer(
      "  weft export-hf runs/NAME --best exported\n"
      "  python -c \"from transformers import pipeline; print(pipeline('text-generation', 'exported')('In a hole'))\"");
  auto copy = std::make_shared<CheckpointCopyArguments>();
  auto dtype = std::make_shared<StoredTypeArgument>();
  auto adapter = std::make_shared<bool>(false);
  copy->add_to(command, "directory");
  dtype->add_to(command);
  command.add_flag("--adapter", *adapter, "Only the adapters of a run with lora, in the format of peft");
  command.on_parsed([=, &action] {
    action = [=] {
      const fs::path path = copy->found();
      const ExportReport report = export_model(path, copy->out, dtype->type(), program_origin(), *adapter);
      log_info("{}: the {} of {}", copy->out, report.architecture, path.string());
      if (!report.why_not_other.empty()) {
        log_warning("written in weft's own layout, since MarianMT does not support {}", report.why_not_other);
      }
      return ExitCode::Done;
    };
  });
}

}  // namespace weft
