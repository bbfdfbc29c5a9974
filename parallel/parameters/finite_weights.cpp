// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/finite_weights.h"

#include <array>
#include <cmath>
#include <vector>

#include "kernels/ops/optimizer.h"
#include "kernels/transfer.h"

namespace weft {

// A sum of squares is finite if all its terms are: an f64 holds the square of every f32, and their sum.
bool finite_weights(const ParameterRegistry& registry) {
  Context& context = registry.context();
  std::vector<Tensor> parts;
  for (const FlatRange& range : registry.layout().owned) parts.push_back(registry.master().piece(range));
  const Tensor squares = context.empty({1}, DType::F64);
  square_sum(context, {.parts = parts, .out = squares});
  std::array<double, 1> sum{};
  download(context, squares, std::span<double>(sum));
  std::array<double, 1> wrong{std::isfinite(sum[0]) ? 0.0 : 1.0};
  registry.mesh().world().all_reduce_host(wrong, ReduceOp::Max);
  return wrong[0] == 0;
}

}  // namespace weft
