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

// log P(tokens | context) of each continuation under a language model, in nats; the same on every rank. A figure
// depends on its continuation alone. If both exceed the model's positions, the beginning of the context is left out.
// DataError if the tokens alone do not fit. Collective: the dp ranks share the work; beats while it runs.
std::vector<double> log_likelihoods(Transformer& model, std::span<const Continuation> continuations);

}  // namespace weft
