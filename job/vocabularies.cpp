// SPDX-License-Identifier: Apache-2.0
#include "job/vocabularies.h"

#include <algorithm>

#include "data/tokenizer/tokenizer.h"
#include "job/dataset_checks.h"

namespace weft {
namespace {

constexpr int64_t kByteIds = 256;
constexpr int64_t kGpt2Ids = 50257;  // with <|endoftext|>, which the files include

// The vocabulary of the tokenizer in `file`, or, if `file` is "", of one made from `config`; nullopt if it is unknown.
std::optional<int64_t> known_vocabulary(const std::string& file, const TokenizerConfig& config) {
  if (file.empty()) return stated_vocabulary(config);
  return fs::exists(file) ? std::optional(Tokenizer::load(file)->vocabulary()) : std::nullopt;
}

}  // namespace

Vocabularies vocabularies_of(const DatasetHeader& header) {
  if (header.kind != DatasetKind::Pairs) return {.source = 0, .target = header.target.vocabulary};
  return {.source = header.source.vocabulary, .target = header.target.vocabulary};
}

std::shared_ptr<const Dataset> prepared_train_split(const JobConfig& job) {
  const std::vector<DatasetSource> sources = job.data.sources();
  if (!std::ranges::all_of(sources, [](const DatasetSource& s) { return is_prepared(s.directory); })) return nullptr;
  auto train = std::make_shared<const Dataset>(Dataset::open(sources, DataSplit::Train));
  check_job_against(job, *train);
  return train;
}

std::optional<int64_t> stated_vocabulary(const TokenizerConfig& tokenizer) {
  const auto specials = std::ssize(tokenizer.specials);
  switch (tokenizer.kind) {
    case TokenizerKind::Bytes:
      return kByteIds + specials;
    case TokenizerKind::Gpt2:
      return kGpt2Ids + specials - std::ranges::count(tokenizer.specials, "<|endoftext|>");
    case TokenizerKind::Bpe:
      if (tokenizer.merges > 0) return kByteIds + tokenizer.merges + specials;
      [[fallthrough]];
    case TokenizerKind::Chars:
    case TokenizerKind::Words:
    case TokenizerKind::Tiktoken:
    case TokenizerKind::HuggingFace:
    case TokenizerKind::SentencePiece:
      return tokenizer.vocabulary > 0 ? std::optional(tokenizer.vocabulary) : std::nullopt;
  }
  throw InternalError("no such kind of tokenizer");
}

std::optional<Vocabularies> known_vocabularies(const JobConfig& job, const Dataset* train) {
  if (train) return vocabularies_of(train->header());
  const auto source = known_vocabulary(job.data.tokenizer_file, job.tokenizer);
  const auto target = job.text().has_own_target() ? known_vocabulary(job.data.target_tokenizer_file,
                                                                     job.target_tokenizer.value_or(job.tokenizer))
                                                  : source;
  if (!source || !target) return std::nullopt;
  return Vocabularies{.source = job.is_translation() ? *source : 0, .target = *target};
}

}  // namespace weft
