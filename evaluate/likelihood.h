// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace weft {

// A text and the context that it may follow. Neither is empty.
struct Continuation {
  std::vector<int32_t> context, tokens;
};

struct Likelihood {
  double log_probability = 0;  // log P(tokens | context), in nats
  bool greedy = true;          // whether each token is the likeliest one where it stands
  bool operator==(const Likelihood&) const = default;
};

// The likelihood of each continuation under a language model; the same on every rank, and for any number of replicas to
// the last bit. Continuations are scored some 2,048 tokens at a time: a figure depends on those beside it within
// rounding. If both texts exceed the model's positions, the beginning of the context is left out. DataError if the
// tokens alone do not fit. Collective: the dp ranks share the work; beats while it runs.
std::vector<Likelihood> likelihoods(Transformer& model, std::span<const Continuation> continuations);

}  // namespace weft
