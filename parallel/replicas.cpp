#include "parallel/replicas.h"

#include <array>

#include "base/hash.h"

namespace weft {
namespace {

// Exact in an f64.
double digest(const Tensor& t, uint64_t seed) {
  return static_cast<double>(hash64({reinterpret_cast<const char*>(t.raw()), t.bytes()}, seed) >> 12);
}

void require_equal(Communicator& axis, double mine, int64_t step, const char* what) {
  std::array<double, 2> range = {mine, -mine};
  axis.all_reduce_host(range.data(), range.size(), ReduceOp::Max);
  require<PeerError>(range[0] == -range[1], "step {}: the {} ranks hold different {}", step, name(axis.axis()), what);
}

}  // namespace

void require_equal_replicas(const ParameterRegistry& registry, int64_t step) {
  require_equal(registry.mesh().dp(), digest(registry.flat_value(), 0), step, "weights");
  double replicated = 0;
  for (const auto& p : registry.parameters()) {
    if (p->spec().tp_dim < 0) replicated = digest(p->value(), static_cast<uint64_t>(replicated));
  }
  require_equal(registry.mesh().tp(), replicated, step, "weights that tensor parallelism does not divide");
}

}  // namespace weft
