// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare_checks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "data/prepare/encoding/encode.h"
#include "data/prepare/inputs.h"
#include "data/prepare/prepare.h"

namespace weft {

namespace {

void check_readable(const fs::path& path) {
  if (::access(path.c_str(), R_OK) == 0) return;
  throw DataError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
}

bool any_pipe(const BySplit<TextFiles>& splits) {
  const auto is_pipe = [](const TextFile& file) { return file.is_pipe(); };
  return std::ranges::any_of(splits, [&](const TextFiles& files) {
    return std::ranges::any_of(files.source, is_pipe) || std::ranges::any_of(files.target, is_pipe);
  });
}

}  // namespace

Tokenizers check_before_reading(const DataConfig& data, const TokenizerConfig& tokenizer,
                                const std::optional<TokenizerConfig>& target_tokenizer) {
  data.check();
  if (data.tokenizer_file.empty()) tokenizer.check();
  if (target_tokenizer) {
    require<ConfigError>(data.is_translation(), "target_tokenizer: format {} has one side only",
                         enum_name(data.format));
    target_tokenizer->check();
  }
  for (const TextFiles& files : files_of_splits(data)) {
    for (const auto* side : {&files.source, &files.target}) {
      for (const TextFile& file : *side) check_readable(file.name());
    }
  }
  for (const PrepareInput& input : tokenizer_inputs(data, tokenizer, target_tokenizer)) {
    check_readable(input.file.name());
  }
  Tokenizers tokenizers = tokenizers_without_text(data, tokenizer, target_tokenizer);
  SequenceEncoder(data, tokenizers.source, tokenizers.target);  // refuses those that lack a special
  return tokenizers;
}

void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus) {
  if (data.is_pairs() || data.keeps_files_whole()) return;
  if (tokenizer.special(SpecialRole::Eos) || !corpus.holds_several()) return;
  throw ConfigError(
      "tokenizer.eos: the text holds several documents, and without an end token between them they would run together",
      "name one: tokenizer.specials: [</s>] and tokenizer.eos: </s>; or keep files whole, with their line ends "
      "(format text, document_delimiter: file)");
}

void check_preparation(const DataConfig& data, const TokenizerConfig& tokenizer,
                       const std::optional<TokenizerConfig>& target_tokenizer) {
  const Tokenizers tokenizers = check_before_reading(data, tokenizer, target_tokenizer);
  if (any_pipe(files_of_splits(data))) return;  // what is read from a pipe now is gone later
  Corpus corpus(data);
  check_documents_are_kept_apart(data, *tokenizers.source, corpus);
  corpus.check_beginnings();
}

}  // namespace weft
