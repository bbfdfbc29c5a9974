// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/replicas.h"

#include <array>

#include "kernels/tensor_digest.h"

namespace weft {
namespace {

void require_equal(Communicator& axis, const TensorDigest& digest, int64_t step, const char* what) {
  const auto mine = static_cast<double>(digest.value() >> 12);  // an f64 holds it exactly
  std::array<double, 2> range = {mine, -mine};
  axis.all_reduce_host(range, ReduceOp::Max);
  require<PeerError>(range[0] == -range[1], "step {}: the {} ranks hold different {}", step, name(axis.axis()), what);
}

}  // namespace

void require_equal_replicas(const ParameterRegistry& registry, int64_t step) {
  Context& context = registry.context();
  TensorDigest all(context);
  all.add(registry.flat_value(), 0);
  require_equal(registry.mesh().dp(), all, step, "weights");
  for (const GridAxis& grid : kReplicaAxes) {
    TensorDigest replicated(context);
    for (const auto& p : registry.parameters()) {
      if (p->spec().placement.dim(grid.axis)) continue;
      replicated.add(p->value(), p->index());
    }
    require_equal(registry.mesh().on(grid.axis), replicated, step, "weights that the axis does not divide");
  }
}

}  // namespace weft
