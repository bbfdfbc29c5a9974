// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/tokenizers.h"

#include "data/prepare/encoding/encode.h"
#include "data/prepare/phase.h"
#include "data/prepare/records/text_sample.h"
#include "data/tokenizer/trainer.h"

namespace weft {

namespace {

// A trainer, and the sample of the text that it learns from if it does not learn from all text.
class Learner {
 public:
  Learner(const TokenizerConfig& config, int threads) : trainer_(config, threads) {
    if (config.sample_bytes > 0) sample_.emplace(static_cast<uint64_t>(config.sample_bytes));
  }
  void add(std::string& text) { sample_ ? sample_->add(std::move(text)) : trainer_.add(text); }
  TokenizerPtr finish() {
    if (sample_) {
      for (const std::string& text : sample_->take()) trainer_.add(text);
    }
    return trainer_.finish();
  }

 private:
  TokenizerTrainer trainer_;
  std::optional<TextSample> sample_;
};

// Feeds the sides of each training record to their learners; null: nothing is learnt from that side.
void read_training_text(const TextJob& job, Corpus& corpus, const PrepareOptions& options, Learner* source,
                        Learner* target) {
  const bool pairs = job.data.is_pairs();
  const std::string_view source_kind = enum_name(job.tokenizer.kind);
  const std::string_view target_kind = enum_name(job.target_tokenizer.value_or(job.tokenizer).kind);
  BadRecords bad(job.data.bad_records == BadRecordPolicy::Skip);  // bad records are counted when the text is encoded
  PhaseProgress phase(options, "reading text for the tokenizer", corpus.total_bytes());
  corpus.rewind();
  DataSplit split;
  TextRecord record;
  while (corpus.next(split, record)) {
    phase.tick(corpus.consumed());
    if (split != DataSplit::Train) continue;
    try {
      check_text(record, false, source_kind);
      if (pairs) check_text(record, true, target_kind);
    } catch (const BadRecordError& error) {
      bad.meet(error);
      continue;
    }
    if (source && job.data.kind() == DatasetKind::Chats) {
      for (ChatMessage& message : read_messages(record.source)) source->add(message.text);
    } else if (source) {
      source->add(record.source);
    }
    if (pairs && target) target->add(record.target);
  }
  phase.done();
}

// `learns`: set to whether the tokenizer is a stand-in.
TokenizerPtr known_tokenizer(const TokenizerConfig& config, bool& learns) {
  TokenizerTrainer trainer(config, 1);
  learns = trainer.needs_text();
  if (!learns) return trainer.finish();
  const TokenizerConfig stand_in = {
      .kind = TokenizerKind::Bytes, .specials = config.specials, .bos = config.bos, .eos = config.eos};
  return TokenizerTrainer(stand_in, 1).finish();
}

}  // namespace

Tokenizers known_tokenizers(const TextJob& job) {
  Tokenizers known;
  if (!job.data.tokenizer_file.empty()) {
    known.source = known.target = Tokenizer::load(job.data.tokenizer_file);
    if (job.has_own_target()) known.target = Tokenizer::load(job.data.target_tokenizer_file);
    return known;
  }
  known.source = known.target = known_tokenizer(job.tokenizer, known.learns_source);
  known.learns_target = known.learns_source;
  if (job.target_tokenizer) known.target = known_tokenizer(*job.target_tokenizer, known.learns_target);
  return known;
}

Tokenizers learn_tokenizers(const TextJob& job, const Tokenizers& known, Corpus& corpus,
                            const PrepareOptions& options) {
  if (!known.learns()) return known;
  std::optional<Learner> source, own;
  if (known.learns_source) source.emplace(job.tokenizer, options.threads);
  if (job.target_tokenizer && known.learns_target) own.emplace(*job.target_tokenizer, options.threads);
  const auto if_any = [](std::optional<Learner>& learner) { return learner ? &*learner : nullptr; };
  read_training_text(job, corpus, options, if_any(source), if_any(job.target_tokenizer ? own : source));
  PhaseProgress phase(options, "learning the tokenizer", 0);
  Tokenizers learnt{.source = source ? source->finish() : known.source, .target = known.target};
  if (!job.target_tokenizer) learnt.target = learnt.source;
  if (own) learnt.target = own->finish();
  phase.done();
  return learnt;
}

}  // namespace weft
