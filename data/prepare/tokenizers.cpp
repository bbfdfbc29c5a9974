#include "data/prepare/tokenizers.h"

#include "data/prepare/encode.h"
#include "data/prepare/phase.h"
#include "data/tokenizer/trainer.h"

namespace weft {

namespace {

// A trainer and what its text has to be.
struct Learner {
  Learner(const TokenizerConfig& config, int threads) : trainer(config, threads), kind(enum_name(config.kind)) {}
  void add(const TextRecord& record, bool target) {
    check_text(record, target, kind);
    if (trainer.needs_text()) trainer.add(target ? record.target : record.source);
  }
  TokenizerTrainer trainer;
  std::string_view kind;
};

void read_training_text(bool pairs, Corpus& corpus, const PrepareOptions& options, Learner& source, Learner& target) {
  PhaseProgress phase(options, "reading text for the tokenizer", corpus.total_bytes());
  corpus.rewind();
  DataSplit split;
  TextRecord record;
  while (corpus.next(split, record)) {
    phase.tick(corpus.consumed());
    if (split != DataSplit::Train) continue;
    source.add(record, false);
    if (pairs) target.add(record, true);
  }
  phase.done();
}

}  // namespace

bool has_own_target(const DataConfig& data, const std::optional<TokenizerConfig>& target_tokenizer) {
  return data.tokenizer_file.empty() ? target_tokenizer.has_value() : !data.target_tokenizer_file.empty();
}

Tokenizers make_tokenizers(const DataConfig& data, const TokenizerConfig& tokenizer,
                           const std::optional<TokenizerConfig>& target_tokenizer, Corpus& corpus,
                           const PrepareOptions& options) {
  const bool own_target = has_own_target(data, target_tokenizer);
  Tokenizers made;
  if (!data.tokenizer_file.empty()) {
    made.source = Tokenizer::load(data.tokenizer_file);
    made.target = own_target ? Tokenizer::load(data.target_tokenizer_file) : made.source;
    return made;
  }
  Learner source(tokenizer, options.threads);
  std::optional<Learner> own;
  if (own_target) own.emplace(*target_tokenizer, options.threads);
  Learner& target = own ? *own : source;
  if (source.trainer.needs_text() || target.trainer.needs_text()) {
    read_training_text(data.is_pairs(), corpus, options, source, target);
  }
  PhaseProgress phase(options, "learning the tokenizer", 0);
  made.source = source.trainer.finish();
  made.target = own ? own->trainer.finish() : made.source;
  phase.done();
  return made;
}

}  // namespace weft
