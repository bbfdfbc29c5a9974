// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/gradient_norm.h"

#include <span>

namespace weft {
namespace {

// The parts of an owned range that this rank counts: on the first rank of a replica the whole range, as one piece.
std::vector<FlatRange> counted_parts(const ParameterRegistry& registry, const FlatRange& range) {
  if (registry.mesh().first_of_replica()) return {range};  // padding is zero
  std::vector<FlatRange> parts;
  for (const auto& p : registry.parameters()) {
    if (!registry.counts(*p) || p->spec().frozen) continue;
    const FlatRange part = overlap(range, p->range());
    if (part.size() > 0) parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<Tensor> counted_gradients(const ParameterRegistry& registry) {
  const FlatLayout& layout = registry.layout();
  const Communicator& dp = registry.mesh().dp();
  std::vector<Tensor> counted;
  for (FlatRange range : std::span(layout.owned).first(layout.trained_owned)) {
    if (!layout.sharded()) {  // all replicas hold the same gradient, so each squares a part
      const int64_t total = range.size();
      range = {range.begin + total * dp.rank() / dp.size(), range.begin + total * (dp.rank() + 1) / dp.size()};
    }
    for (const FlatRange& part : counted_parts(registry, range)) {
      counted.push_back(registry.reduced_gradient().piece(part));
    }
  }
  return counted;
}

}  // namespace weft
