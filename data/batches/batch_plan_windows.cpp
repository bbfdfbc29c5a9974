// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan_windows.h"

// Plans over a stream of tokens: windows for training, and for evaluation.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/divide_up.h"
#include "base/error.h"
#include "data/batches/mixture.h"
#include "data/batches/permutation.h"

namespace weft {
namespace {

void check_stream(int64_t num_tokens, int64_t context, size_t part, size_t parts) {
  if (num_tokens > context) return;
  const std::string which = parts == 1 ? "the stream" : fmt::format("dataset {} of {} that are mixed", part + 1, parts);
  throw DataError(
      fmt::format("{} has {} tokens; one window of {} inputs needs {}", which, num_tokens, context, context + 1),
      "prepare more text or lower batch.context_length");
}

// The windows of one stream, which do not overlap. Each is taken once an epoch, in random order.
class ShuffledWindows {
 public:
  ShuffledWindows(const BatchConfig& config, int64_t num_tokens, uint64_t seed)
      : context_(config.context_length), num_tokens_(num_tokens), seed_(seed), shifts_(config.shift_windows) {
    windows_ = shifts_ ? std::max<int64_t>(1, (num_tokens - context_) / context_) : (num_tokens - 1) / context_;
  }

  int64_t windows() const { return windows_; }
  // Maps a place in the epoch's order to the first token of its window.
  class Epoch {
   public:
    Epoch(const ShuffledWindows& of, int64_t epoch)
        : order_(of.windows_, derive_key(of.seed_, DataStream::WindowOrder, epoch)),
          begin_(of.offset(epoch)),
          context_(of.context_) {}
    int64_t operator()(int64_t place) const { return begin_ + static_cast<int64_t>(order_(place)) * context_; }

   private:
    Permutation order_;
    int64_t begin_, context_;
  };

 private:
  // Every epoch has the same number of windows: one fewer than fit from offset 0 if the last would not always fit.
  int64_t offset(int64_t epoch) const {
    if (!shifts_) return 0;
    const int64_t slack = num_tokens_ - 1 - windows_ * context_;
    const Philox draw(derive_key(seed_, DataStream::WindowOffset, epoch));
    return static_cast<int64_t>(uniform_below(std::min(slack + 1, context_), draw({0, 0, 0, 0})));
  }

  int64_t context_;
  int64_t num_tokens_;
  uint64_t seed_;
  bool shifts_;
  int64_t windows_ = 0;
};

class WindowPlan final : public BatchPlan {
 public:
  WindowPlan(const BatchConfig& config, std::span<const StreamPart> parts, uint64_t seed)
      : config_(config),
        seed_(seed),
        per_step_(config.sequences > 0 ? config.sequences : config.tokens / config.context_length),
        parts_(parts.begin(), parts.end()),
        shuffled_(windows_of(config, parts, seed)),
        mixture_(mixture_of(parts, shuffled_)) {
    if (random()) {
      steps_ = std::max<int64_t>(1, random_windows() / per_step_);
      return;
    }
    steps_ = config.drop_last ? windows() / per_step_ : divide_up(windows(), per_step_);
    if (steps_ == 0) {
      throw DataError(fmt::format("the stream's {} windows do not fill one step of {}", windows(), per_step_),
                      "lower batch.sequences or batch.tokens, or set batch.drop_last: false");
    }
  }

  int64_t steps_per_epoch(int64_t) const override { return steps_; }
  int64_t largest_step(int64_t) const override { return 0; }
  int64_t sequences_per_epoch() const override { return random() ? steps_ * per_step_ : windows(); }
  const MixtureOrder* mixture() const override { return &mixture_; }

  PlannedStep step(int64_t epoch, int64_t step_in_epoch) const override {
    check_step(step_in_epoch, steps_);
    PlannedStep result{.epoch = epoch, .step_in_epoch = step_in_epoch};
    const int64_t first = step_in_epoch * per_step_;
    const int64_t count = random() ? per_step_ : std::min(per_step_, windows() - first);
    result.sequences.reserve(count);
    const auto begins = random() ? drawn(epoch, first, count) : shuffled(epoch, first, count);
    for (const int64_t token : begins) {
      result.sequences.push_back({.index = token, .input_tokens = static_cast<int32_t>(config_.context_length)});
    }
    return result;
  }

  std::string order_text() const override {
    if (random()) return fmt::format("windows of {}{} drawn with replacement", config_.context_length, mixture_.text());
    return fmt::format("windows of {}{}, each once an epoch{}{}", config_.context_length, mixture_.text(),
                       parts_.size() == 1 ? "" : " of its dataset",
                       config_.shift_windows ? ", from another offset every epoch" : "");
  }

 private:
  static std::vector<ShuffledWindows> windows_of(const BatchConfig& config, std::span<const StreamPart> parts,
                                                 uint64_t seed) {
    std::vector<ShuffledWindows> all;
    for (size_t i = 0; i < parts.size(); ++i) all.emplace_back(config, parts[i].tokens, seed_of_part(seed, i));
    return all;
  }
  static MixtureOrder mixture_of(std::span<const StreamPart> parts, const std::vector<ShuffledWindows>& shuffled) {
    std::vector<MixturePart> mixed;
    for (size_t i = 0; i < parts.size(); ++i) mixed.push_back({shuffled[i].windows(), parts[i].weight});
    return MixtureOrder(mixed);
  }

  bool random() const { return config_.order == BatchOrder::Random; }
  int64_t windows() const { return mixture_.records(); }
  int64_t random_windows() const {
    int64_t windows = 0;
    for (const StreamPart& part : parts_) windows += (part.tokens - 1) / config_.context_length;
    return windows;
  }

  // First tokens drawn with replacement, each from the part that the mixture gives its slot.
  std::vector<int64_t> drawn(int64_t epoch, int64_t first, int64_t count) const {
    const Philox draw(derive_key(seed_, DataStream::WindowDraw, epoch));
    std::vector<int64_t> begins;
    for (int64_t i = first; i < first + count; ++i) {
      const Philox::Counter at{static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0};
      const StreamPart& part = parts_[mixture_.at(epoch, i % windows()).part];
      begins.push_back(part.begin +
                       static_cast<int64_t>(uniform_below(part.tokens - config_.context_length, draw(at))));
    }
    return begins;
  }

  std::vector<int64_t> shuffled(int64_t epoch, int64_t first, int64_t count) const {
    std::map<std::pair<size_t, int64_t>, ShuffledWindows::Epoch> epochs;
    std::vector<int64_t> begins;
    for (int64_t i = first; i < first + count; ++i) {
      const auto [part, own_epoch, place] = mixture_.at(epoch, i);
      const auto own = epochs.try_emplace({part, own_epoch}, shuffled_[part], own_epoch).first;
      begins.push_back(parts_[part].begin + own->second(place));
    }
    return begins;
  }

  BatchConfig config_;
  uint64_t seed_;
  int64_t per_step_;
  std::vector<StreamPart> parts_;
  std::vector<ShuffledWindows> shuffled_;  // one per part
  MixtureOrder mixture_;
  int64_t steps_ = 0;
};

// Evaluation windows that begin at k * stride. Each scores the tokens that the window before it did not reach.
class WindowEvaluation final : public BatchPlan {
 public:
  WindowEvaluation(const EvaluationOptions& options, int64_t num_tokens)
      : num_tokens_(num_tokens),
        context_(options.context_length),
        stride_(options.stride > 0 ? options.stride : options.context_length),
        per_step_(std::max<int64_t>(1, options.step_tokens / options.context_length)) {
    const int64_t targets = num_tokens - 1;
    windows_ = targets <= context_ ? 1 : 1 + divide_up(targets - context_, stride_);
    if (options.max_sequences > 0) windows_ = std::min(windows_, options.max_sequences);
  }

  int64_t steps_per_epoch(int64_t) const override { return divide_up(windows_, per_step_); }
  int64_t largest_step(int64_t) const override { return 0; }
  int64_t sequences_per_epoch() const override { return windows_; }

  PlannedStep step(int64_t epoch, int64_t step_in_epoch) const override {
    check_step(step_in_epoch, steps_per_epoch(epoch));
    PlannedStep result{.epoch = epoch, .step_in_epoch = step_in_epoch};
    const int64_t first = step_in_epoch * per_step_;
    for (int64_t k = first; k < std::min(first + per_step_, windows_); ++k) {
      const int64_t begin = k * stride_;
      result.sequences.push_back({.index = begin,
                                  .input_tokens = static_cast<int32_t>(std::min(context_, num_tokens_ - 1 - begin)),
                                  .unscored = static_cast<int32_t>(k == 0 ? 0 : context_ - stride_)});
    }
    return result;
  }

  std::string order_text() const override {
    return fmt::format("evaluation windows of {}, one every {} tokens, in order", context_, stride_);
  }

 private:
  int64_t num_tokens_;
  int64_t context_;
  int64_t stride_;
  int64_t per_step_;
  int64_t windows_;
};

}  // namespace

std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, std::span<const StreamPart> parts,
                                                  uint64_t seed) {
  config.check_for_windows();
  for (size_t i = 0; i < parts.size(); ++i) check_stream(parts[i].tokens, config.context_length, i, parts.size());
  return std::make_shared<WindowPlan>(config, parts, seed);
}

std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, int64_t num_tokens, uint64_t seed) {
  const StreamPart all{.tokens = num_tokens};
  return make_window_plan(config, {&all, 1}, seed);
}

std::shared_ptr<const BatchPlan> make_window_evaluation(const EvaluationOptions& options, int64_t num_tokens) {
  require<ConfigError>(options.context_length > 0, "evaluation: context_length = {} must be at least 1",
                       options.context_length);
  require<ConfigError>(options.stride >= 0 && options.stride <= options.context_length,
                       "evaluation: stride = {} must be in 0 .. context_length = {}", options.stride,
                       options.context_length);
  require<DataError>(num_tokens >= 2, "evaluation: the split has {} tokens; at least 2 are needed to predict one",
                     num_tokens);
  return std::make_shared<WindowEvaluation>(options, num_tokens);
}

}  // namespace weft
