// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/replicas.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/hash.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

// A hash that an f64 holds exactly. It takes the tensor in pieces, so that little of it lies on the host at a time.
double digest(Context& context, const Tensor& t, uint64_t seed) {
  constexpr int64_t kPiece = int64_t{1} << 22;
  Hasher hasher;
  hasher.update(&seed, sizeof seed);
  std::vector<std::byte> bytes;
  for (int64_t begin = 0; begin < t.elements(); begin += kPiece) {
    const Tensor piece = t.flat(begin, Shape{std::min(kPiece, t.elements() - begin)});
    bytes.resize(piece.bytes());
    download_bytes(context, piece, bytes);
    hasher.update(bytes.data(), bytes.size());
  }
  return static_cast<double>(hasher.digest() >> 12);
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
