// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/tokenizers.h"

#include "data/prepare/encoding/encode.h"
#include "data/prepare/phase.h"
#include "data/prepare/records/text_sample.h"
#include "data/tokenizer/trainer.h"

namespace weft {

namespace {

// A trainer and what its text has to be.
struct Learner {
  Learner(const TokenizerConfig& config, int threads) : trainer(config, threads), kind(enum_name(config.kind)) {
    if (config.sample_bytes > 0) sample.emplace(static_cast<uint64_t>(config.sample_bytes));
  }
  void add(std::string& text) {
    if (!trainer.needs_text()) return;
    sample ? sample->add(std::move(text)) : trainer.add(text);
  }
  TokenizerPtr finish() {
    if (sample) {
      for (const std::string& text : sample->take()) trainer.add(text);
    }
    return trainer.finish();
  }
  TokenizerTrainer trainer;
  std::string_view kind;
  std::optional<TextSample> sample;
};

void read_training_text(const DataConfig& data, Corpus& corpus, const PrepareOptions& options, Learner& source,
                        Learner& target) {
  const bool pairs = data.is_pairs();
  BadRecords bad(data.bad_records == BadRecordPolicy::Skip);  // counted when they are met again, as text is encoded
  PhaseProgress phase(options, "reading text for the tokenizer", corpus.total_bytes());
  corpus.rewind();
  DataSplit split;
  TextRecord record;
  while (corpus.next(split, record)) {
    phase.tick(corpus.consumed());
    if (split != DataSplit::Train) continue;
    try {
      check_text(record, false, source.kind);
      if (pairs) check_text(record, true, target.kind);
    } catch (const BadRecordError& error) {
      bad.meet(error);
      continue;
    }
    source.add(record.source);
    if (pairs) target.add(record.target);
  }
  phase.done();
}

Tokenizers load_tokenizers(const DataConfig& data) {
  const TokenizerPtr source = Tokenizer::load(data.tokenizer_file);
  return {.source = source,
          .target = data.target_tokenizer_file.empty() ? source : Tokenizer::load(data.target_tokenizer_file)};
}

}  // namespace

bool has_own_target(const DataConfig& data, const std::optional<TokenizerConfig>& target_tokenizer) {
  return data.tokenizer_file.empty() ? target_tokenizer.has_value() : !data.target_tokenizer_file.empty();
}

Tokenizers tokenizers_without_text(const DataConfig& data, const TokenizerConfig& tokenizer,
                                   const std::optional<TokenizerConfig>& target_tokenizer) {
  if (!data.tokenizer_file.empty()) return load_tokenizers(data);
  const auto make = [](const TokenizerConfig& config) {
    TokenizerTrainer trainer(config, 1);
    if (!trainer.needs_text()) return trainer.finish();
    const TokenizerConfig stand_in = {
        .kind = TokenizerKind::Bytes, .specials = config.specials, .bos = config.bos, .eos = config.eos};
    return TokenizerTrainer(stand_in, 1).finish();
  };
  const TokenizerPtr source = make(tokenizer);
  return {.source = source, .target = target_tokenizer ? make(*target_tokenizer) : source};
}

Tokenizers make_tokenizers(const DataConfig& data, const TokenizerConfig& tokenizer,
                           const std::optional<TokenizerConfig>& target_tokenizer, const Tokenizers& known,
                           Corpus& corpus, const PrepareOptions& options) {
  if (!data.tokenizer_file.empty()) return known;
  Learner source(tokenizer, options.threads);
  std::optional<Learner> own;
  if (target_tokenizer) own.emplace(*target_tokenizer, options.threads);
  Learner& target = own ? *own : source;
  if (!source.trainer.needs_text() && !target.trainer.needs_text()) return known;
  read_training_text(data, corpus, options, source, target);
  PhaseProgress phase(options, "learning the tokenizer", 0);
  Tokenizers made = known;
  if (source.trainer.needs_text()) made.source = source.finish();
  if (!own) made.target = made.source;
  if (own && own->trainer.needs_text()) made.target = own->finish();
  phase.done();
  return made;
}

}  // namespace weft
