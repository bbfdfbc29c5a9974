// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config/fields.h"

namespace weft {

// Low-rank adapters (Hu et al. 2021): y = x W^T + b + (alpha / rank) (dropout(x) A^T) B^T, W and b frozen.
struct LoraConfig {
  int64_t rank = 0;
  double alpha = 16;
  double dropout = 0;
  std::vector<std::string> targets = {"attention.qkv"};

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("rank", rank, "Rank of the adapters; 0 means none, and all weights are trained.",
            Range{.min = 0, .max = 1 << 16});
    v.field("alpha", alpha, "What an adapter adds is multiplied by alpha / rank.", Range{.min = 0, .max = 1e6});
    v.field("dropout", dropout, "Probability of dropping an element of an adapter's input.",
            Range{.min = 0, .max = 0.95});
    v.field("targets", targets,
            "Products that get an adapter, by the end of their names: attention.qkv, attention.output, ffn.up, "
            "ffn.down, and in a translation model cross.q, cross.kv, cross.output; decoder.[0-5].ffn.* and the like "
            "choose among layers.");
  }

  bool active() const { return rank > 0; }
  double scale() const { return rank > 0 ? alpha / static_cast<double>(rank) : 0; }
};

}  // namespace weft
