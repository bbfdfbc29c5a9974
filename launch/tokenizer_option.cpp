// SPDX-License-Identifier: Apache-2.0
#include "launch/tokenizer_option.h"

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/locate.h"
#include "checkpoint/reader.h"
#include "checkpoint/writer.h"
#include "data/dataset/manifest.h"
#include "data/tokenizer/trainer.h"
#include "job/loaded_model.h"
#include "launch/command_line/choice_option.h"

namespace weft {
namespace {

// Converts a file of another program, as for a job.
TokenizerPtr load_foreign(const TokenizerConfig& config) { return TokenizerTrainer(config, 1).finish(); }

// weft's own tokenizer.json has a "format"; the file of Hugging Face's tokenizers library has none.
TokenizerPtr load_json(const fs::path& path) {
  const auto json = parse_json(read_file(path), path.string());
  const bool is_own = !json.is_object() || json.contains("format") || !json.contains("model");
  return is_own ? Tokenizer::load(path) : load_foreign({.kind = TokenizerKind::HuggingFace, .model_file = path});
}

TokenizerPtr load_file(const fs::path& path) {
  const std::string extension = path.extension();
  if (extension == ".json") return load_json(path);
  if (extension == ".model") return load_foreign({.kind = TokenizerKind::SentencePiece, .model_file = path});
  if (extension == ".tiktoken") return load_foreign({.kind = TokenizerKind::Tiktoken, .ranks_file = path});
  throw ConfigError(
      fmt::format("{} is not a tokenizer", path.string()),
      "give a tokenizer's .json, a .tiktoken or .model file, or the directory of a dataset, run or checkpoint");
}

TokenizerPtr load_from_dataset(const fs::path& directory, TokenizerSide side) {
  const Manifest manifest = read_manifest(directory);
  const DatasetSide& of_side = side == TokenizerSide::Source ? manifest.source : manifest.target;
  return Tokenizer::load(directory / of_side.tokenizer_file);
}

TokenizerPtr load_from_checkpoint(const fs::path& path, TokenizerSide side) {
  const CheckpointTokenizers tokenizers = Checkpoint::open(resolve_checkpoint(path, false)).tokenizers();
  return side == TokenizerSide::Source ? tokenizers.source : tokenizers.target;
}

}  // namespace

void TokenizerArguments::add_to(Command& command) {
  command
      .add_option(
          "--tokenizer", path,
          "A tokenizer's .json, a .tiktoken or .model file, or the directory of a dataset, a run or a checkpoint")
      .required()
      .type_name("PATH");
  add_choice_option(command, "--side", side, "Which of two tokenizers of a dataset or checkpoint: source or target",
                    "SIDE");
}

TokenizerPtr TokenizerArguments::load() const {
  require<DataError>(fs::exists(path), "{}: no such file or directory", path);
  if (!fs::is_directory(path)) return load_file(path);
  return is_prepared(path) ? load_from_dataset(path, side) : load_from_checkpoint(path, side);
}

}  // namespace weft
