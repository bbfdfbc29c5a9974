// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/replicas.h"

#include <array>

#include "parallel/parameters/tensor_hash.h"

namespace weft {
namespace {

// A hash that an f64 holds exactly.
double digest(Context& context, const Tensor& t, uint64_t seed) {
  return static_cast<double>(hash_of(context, t, seed) >> 12);
}

void require_equal(Communicator& axis, double mine, int64_t step, const char* what) {
  std::array<double, 2> range = {mine, -mine};
  axis.all_reduce_host(range, ReduceOp::Max);
  require<PeerError>(range[0] == -range[1], "step {}: the {} ranks hold different {}", step, name(axis.axis()), what);
}

}  // namespace

void require_equal_replicas(const ParameterRegistry& registry, int64_t step) {
  Context& context = registry.context();
  require_equal(registry.mesh().dp(), digest(context, registry.flat_value(), 0), step, "weights");
  for (const GridAxis& grid : kReplicaAxes) {
    double replicated = 0;
    for (const auto& p : registry.parameters()) {
      if (p->spec().placement.dim(grid.axis)) continue;
      replicated = digest(context, p->value(), static_cast<uint64_t>(replicated));
    }
    require_equal(registry.mesh().on(grid.axis), replicated, step, "weights that the axis does not divide");
  }
}

}  // namespace weft
