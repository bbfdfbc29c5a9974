// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_config.h"

#include <fmt/core.h>

#include <string>

#include "base/error.h"

namespace weft {
namespace {

void check_size(const BatchConfig& c) {
  if (c.sequences == 0 && c.tokens == 0) {
    throw ConfigError("batch: neither sequences nor tokens is set",
                      "set batch.sequences (windows or pairs a step) or batch.tokens (a token budget a step)");
  }
  if (c.sequences != 0 && c.tokens != 0) {
    throw ConfigError(fmt::format("batch: sequences ({}) and tokens ({}) are both set", c.sequences, c.tokens),
                      "set one of them to 0");
  }
}

void check_groups(const BatchConfig& c) {
  if (c.buckets_per_step == 1 || c.order == BatchOrder::Bucketed) return;
  throw ConfigError(fmt::format("batch.buckets_per_step = {} needs batch.order: bucketed", c.buckets_per_step));
}

}  // namespace

void BatchConfig::check_for_windows() const {
  check_size(*this);
  check_groups(*this);
  if (order == BatchOrder::Bucketed) {
    throw ConfigError("batch.order: bucketed is for pairs; windows are all of one length", "use shuffled or random");
  }
  if (context_length == 0)
    throw ConfigError("batch.context_length is not set", "set it to the tokens of a window, such as 256");
  if (tokens % context_length != 0) {
    const int64_t below = tokens / context_length * context_length;
    const std::string near = below == 0 ? "" : fmt::format("{} or ", below);
    throw ConfigError(
        fmt::format("batch.tokens = {} is not a multiple of batch.context_length = {}", tokens, context_length),
        fmt::format("use {}{}, or set batch.sequences", near, below + context_length));
  }
}

void BatchConfig::check_for_pairs() const {
  check_size(*this);
  check_groups(*this);
  if (order == BatchOrder::Random) {
    throw ConfigError("batch.order: random is for windows of a stream", "use shuffled or bucketed");
  }
  if (buckets_per_step > 1 && sequences % buckets_per_step != 0) {
    throw ConfigError(fmt::format("batch.sequences = {} is not a multiple of batch.buckets_per_step = {}", sequences,
                                  buckets_per_step));
  }
  if (tokens > 0 && tokens / buckets_per_step == 0) {
    throw ConfigError(
        fmt::format("batch.tokens = {} is less than batch.buckets_per_step = {}", tokens, buckets_per_step));
  }
}

}  // namespace weft
