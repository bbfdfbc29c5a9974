#include "evaluate/split_perplexity.h"

#include <algorithm>

#include "evaluate/loss_evaluation.h"

namespace weft {

TextSize text_size(const Dataset& split, const Tokenizer& tokenizer, const std::function<void()>& beat) {
  TextSize size;
  const auto unknown = tokenizer.special(SpecialRole::Unk);  // stands for text, the other specials end one
  const auto ends_text = [&](int32_t id) { return tokenizer.is_special(id) && id != unknown; };
  const auto add = [&](std::span<const int32_t> ids) {
    beat();
    for (auto from = ids.begin(); from != ids.end();) {
      const auto to = std::find_if(from, ids.end(), ends_text);
      size.add(tokenizer.decode({from, to}));
      if (to == ids.end()) break;
      size.end_text();
      from = to + 1;
    }
  };
  std::vector<int32_t> ids;
  if (has_two_sides(split.header().kind)) {
    for (int64_t i = 0; i < split.num_pairs(); ++i) {
      ids.resize(static_cast<size_t>(split.target_length(i)));
      split.read_target(i, ids);
      add(ids);
      size.end_text();
    }
    return size;
  }
  for (int64_t at = 0; at < split.num_tokens(); at += 1 << 16) {
    ids.resize(static_cast<size_t>(std::min<int64_t>(1 << 16, split.num_tokens() - at)));
    split.read_tokens(at, ids);
    add(ids);
  }
  return size;
}

PerplexityReport split_perplexity(const LoadedModel& loaded, const std::shared_ptr<const Dataset>& split,
                                  const PerplexityOptions& options) {
  const int64_t context = loaded.job.batch.context_length;
  Heartbeat& heartbeat = loaded.model->parameters().mesh().heartbeat();
  const Heartbeat::Scope evaluating(heartbeat, RunPhase::Evaluate);
  const LossReport loss = evaluate_loss(*loaded.model, split,
                                        {.context_length = context,
                                         .stride = options.stride,
                                         .max_sequences = options.max_sequences,
                                         .document_mask = loaded.job.data.document_mask},
                                        0);
  PerplexitySums sums{.nll = loss.nll, .tokens = loss.targets};
  if (options.max_sequences == 0) {
    const TextSize size = text_size(*split, *loaded.target_tokenizer, [&] { heartbeat.beat(); });
    sums.words = size.words(), sums.bytes = size.bytes();
  }
  // Targets of pairs have both ends; in a stream the specials between texts are targets like any other token.
  PerplexityProtocol protocol{.bos_fed = true, .eos_scored = true};
  if (split->header().kind == DatasetKind::Stream) {
    protocol = {.context = context,
                .stride = options.stride > 0 ? options.stride : context,
                .bos_fed = false,
                .eos_scored = loaded.target_tokenizer->special(SpecialRole::Eos).has_value()};
  }
  return perplexity_report(sums, protocol);
}

}  // namespace weft
