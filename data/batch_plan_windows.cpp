#include "data/batch_plan_windows.h"

// Plans over a stream of tokens: windows for training, and for evaluation.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/permutation.h"

namespace weft {
namespace {

void check_stream(int64_t num_tokens, int64_t context) {
  if (num_tokens > context) return;
  throw DataError(
      fmt::format("the stream has {} tokens; one window of {} inputs needs {}", num_tokens, context, context + 1),
      "prepare more text or lower batch.context_length");
}

class WindowPlan final : public BatchPlan {
 public:
  WindowPlan(const BatchConfig& config, int64_t num_tokens, uint64_t seed)
      : config_(config),
        num_tokens_(num_tokens),
        seed_(seed),
        per_step_(config.sequences > 0 ? config.sequences : config.tokens / config.context_length),
        windows_((num_tokens - 1) / config.context_length) {
    if (shifts()) windows_ = std::max<int64_t>(1, (num_tokens - config.context_length) / config.context_length);
    if (random()) {
      steps_ = std::max<int64_t>(1, windows_ / per_step_);
      return;
    }
    steps_ = config.drop_last ? windows_ / per_step_ : divide_up(windows_, per_step_);
    if (steps_ == 0) {
      throw DataError(fmt::format("the stream's {} windows do not fill one step of {}", windows_, per_step_),
                      "lower batch.sequences or batch.tokens, or set batch.drop_last: false");
    }
  }

  int64_t steps_per_epoch(int64_t) const override { return steps_; }
  int64_t largest_step(int64_t) const override { return 0; }
  int64_t sequences_per_epoch() const override { return random() ? steps_ * per_step_ : windows_; }

  PlannedStep step(int64_t epoch, int64_t step_in_epoch) const override {
    check_step(step_in_epoch, steps_);
    PlannedStep result{.epoch = epoch, .step_in_epoch = step_in_epoch};
    const int64_t first = step_in_epoch * per_step_;
    const int64_t count = random() ? per_step_ : std::min(per_step_, windows_ - first);
    result.sequences.reserve(count);
    const auto add = [&](int64_t token) {
      result.sequences.push_back({.index = token, .input_tokens = static_cast<int32_t>(config_.context_length)});
    };
    if (random()) {
      const Philox draw(derive_key(seed_, DataStream::WindowDraw, epoch));
      for (int64_t i = first; i < first + count; ++i) {
        add(uniform_below(num_tokens_ - config_.context_length,
                          draw({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0})));
      }
    } else {
      const Permutation order(windows_, derive_key(seed_, DataStream::WindowOrder, epoch));
      const int64_t begin = offset(epoch);
      for (int64_t i = first; i < first + count; ++i) {
        add(begin + static_cast<int64_t>(order(i)) * config_.context_length);
      }
    }
    return result;
  }

  std::string order_text() const override {
    if (random()) return fmt::format("windows of {} drawn with replacement", config_.context_length);
    return fmt::format("windows of {}, each once an epoch{}", config_.context_length,
                       shifts() ? ", from another offset every epoch" : "");
  }

 private:
  bool random() const { return config_.order == BatchOrder::Random; }
  bool shifts() const { return !random() && config_.shift_windows; }

  // Every epoch has the same number of windows: one fewer than fit from offset 0 if the last would not always fit.
  int64_t offset(int64_t epoch) const {
    if (!shifts()) return 0;
    const int64_t slack = num_tokens_ - 1 - windows_ * config_.context_length;
    const Philox draw(derive_key(seed_, DataStream::WindowOffset, epoch));
    return static_cast<int64_t>(uniform_below(std::min(slack + 1, config_.context_length), draw({0, 0, 0, 0})));
  }

  BatchConfig config_;
  int64_t num_tokens_;
  uint64_t seed_;
  int64_t per_step_;
  int64_t windows_;
  int64_t steps_ = 0;
};

// Windows k * stride, each scoring what the one before it did not reach.
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

std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, int64_t num_tokens, uint64_t seed) {
  config.check_for_windows();
  check_stream(num_tokens, config.context_length);
  return std::make_shared<WindowPlan>(config, num_tokens, seed);
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
