// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare_checks.h"

#include <algorithm>

#include "base/error.h"
#include "data/prepare/prepare.h"
#include "data/prepare/resolved_text.h"

namespace weft {

namespace {

bool any_pipe(const BySplit<TextFiles>& splits) {
  const auto is_pipe = [](const TextFile& file) { return file.is_pipe(); };
  return std::ranges::any_of(splits, [&](const TextFiles& files) {
    return std::ranges::any_of(files.source, is_pipe) || std::ranges::any_of(files.target, is_pipe);
  });
}

}  // namespace

void check_documents_are_kept_apart(const DataConfig& data, const Tokenizer& tokenizer, Corpus& corpus) {
  if (data.is_pairs() || data.keeps_files_whole()) return;
  if (tokenizer.special(SpecialRole::Eos) || !corpus.holds_several()) return;
  throw ConfigError(
      "tokenizer.eos: the text holds several documents, and without an end token between them they would run together",
      "name one: tokenizer.specials: [</s>] and tokenizer.eos: </s>; or keep files whole, with their line ends "
      "(format text, document_delimiter: file)");
}

void check_preparation(const TextJob& job) {
  const ResolvedText text = resolve_text(job);
  if (any_pipe(text.files)) return;  // text read from a pipe here would be lost later
  Corpus corpus(job.data, text.files);
  check_documents_are_kept_apart(job.data, *text.tokenizers.source, corpus);
  corpus.check_beginnings();
}

}  // namespace weft
