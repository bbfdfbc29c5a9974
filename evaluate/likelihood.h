// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace weft {

// A text that may follow another. Neither is empty.
struct Continuation {
  std::vector<int32_t> context, tokens;
};

// log P(tokens | context), in nats, of each, under a language model; the same on every rank. A figure depends on its
// own continuation alone. Where both are longer than the model's positions, the beginning of the context is left out.
// DataError if the tokens alone do not fit. Collective: the dp ranks share the work; beats while it runs.
std::vector<double> log_likelihoods(Transformer& model, std::span<const Continuation> continuations);

}  // namespace weft
