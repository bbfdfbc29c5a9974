// SPDX-License-Identifier: Apache-2.0
#include "evaluate/split_perplexity.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/loss_evaluation.h"

namespace weft {

namespace {

// Counts the text of scored tokens, which are added in their order.
class TextCounter {
 public:
  explicit TextCounter(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), unknown_(tokenizer.special(SpecialRole::Unk)) {}

  // Every special token except the unknown token ends a text.
  void add(std::span<const int32_t> ids) {
    const auto ends_text = [&](int32_t id) { return tokenizer_.is_special(id) && id != unknown_; };
    if (unknown_) text_.unknown += std::ranges::count(ids, *unknown_);
    for (auto from = ids.begin(); from != ids.end();) {
      const auto to = std::find_if(from, ids.end(), ends_text);
      text_.size.add(tokenizer_.decode({from, to}));
      if (to == ids.end()) break;
      text_.size.end_text();
      from = to + 1;
    }
  }
  void end_text() { text_.size.end_text(); }
  const ScoredText& text() const { return text_; }

 private:
  const Tokenizer& tokenizer_;
  std::optional<int32_t> unknown_;
  ScoredText text_;
};

}  // namespace

ScoredText scored_text(const Dataset& split, const Tokenizer& tokenizer, const EvaluationOptions& options,
                       const std::function<void()>& beat) {
  const auto plan = make_evaluation_plan(options, split);
  const bool stream = split.header().kind == DatasetKind::Stream;
  TextCounter counter(tokenizer);
  constexpr size_t kTokensAtOnce = 1 << 16;
  std::vector<int32_t> ids;  // tokens of a stream, whose windows are scored one after another
  for (int64_t step = 0; step < plan->steps_per_epoch(0); ++step) {
    beat();
    for (const PlannedSequence& s : plan->step(0, step).sequences) {
      const size_t at = ids.size();
      ids.resize(at + static_cast<size_t>(stream ? s.scored() : split.target_length(s.index)));
      if (stream) {
        split.read_tokens(s.index + 1 + s.unscored, std::span(ids).subspan(at));
        continue;
      }
      split.read_target(s.index, ids);
      counter.add(ids);
      counter.end_text();
      ids.clear();
    }
    if (ids.size() < kTokensAtOnce) continue;
    counter.add(ids);
    ids.clear();
  }
  counter.add(ids);
  return counter.text();
}

SplitPerplexity split_perplexity(const LoadedModel& loaded, const std::shared_ptr<const Dataset>& split,
                                 const PerplexityOptions& options) {
  const int64_t context = loaded.job.batch.context_length;
  Heartbeat& heartbeat = loaded.model->parameters().mesh().heartbeat();
  const Heartbeat::Scope evaluating(heartbeat, RunPhase::Evaluate);
  const EvaluationOptions evaluation{.context_length = context,
                                     .stride = options.stride,
                                     .max_sequences = options.max_sequences,
                                     .document_mask = loaded.job.data.document_mask,
                                     .max_length = loaded.job.model.max_length};
  const LossReport loss = evaluate_loss(*loaded.model, split, evaluation, 0);
  const ScoredText text = scored_text(*split, *loaded.target_tokenizer, evaluation, [&] { heartbeat.beat(); });
  PerplexitySums sums{.nll = loss.nll, .tokens = loss.targets};
  if (text.unknown == 0) sums.words = text.size.words(), sums.bytes = text.size.bytes();
  // Targets of pairs have a start and an end token; in a stream the specials between texts are targets like any other.
  PerplexityProtocol protocol{.bos_fed = true, .eos_scored = true};
  if (split->header().kind == DatasetKind::Stream) {
    protocol = {.context = context,
                .stride = options.stride > 0 ? options.stride : context,
                .bos_fed = false,
                .eos_scored = loaded.target_tokenizer->special(SpecialRole::Eos).has_value(),
                .documents_apart = evaluation.document_mask};
  }
  return {.report = perplexity_report(sums, protocol), .unknown = text.unknown, .left_out = loss.left_out};
}

}  // namespace weft
