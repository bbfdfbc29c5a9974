#include "checkpoint/parameters.h"

namespace weft {
namespace {

TensorBox box_of(const ParameterRegistry& registry, const Parameter& p, const NamedBuffer& buffer) {
  return {.buffer = buffer.name,
          .name = p.spec().name,
          .shape = p.spec().shape,
          .origin = registry.local_origin(p),
          .data = buffer.flat.flat(p.flat_offset(), p.local_shape())};
}

}  // namespace

std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  std::vector<TensorBox> boxes;
  for (const NamedBuffer& buffer : buffers) {
    for (const auto& p : registry.parameters()) boxes.push_back(box_of(registry, *p, buffer));
  }
  return boxes;
}

std::vector<TensorBox> owned_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  const Mesh& mesh = registry.mesh();
  const int64_t dp = mesh.dp().size(), tp = mesh.tp().size();
  const int64_t total = registry.flat_master().elements();
  std::vector<TensorBox> boxes;
  for (const auto& p : registry.parameters()) {
    const int64_t owner = p->flat_offset() * dp / total;
    // A tensor that tp replicates is written by its first tp rank.
    const bool mine = owner == mesh.dp().rank() && (p->spec().tp_dim >= 0 || tp == 1 || mesh.tp().rank() == 0);
    if (!mine) continue;
    for (const NamedBuffer& buffer : buffers) boxes.push_back(box_of(registry, *p, buffer));
  }
  return boxes;
}

}  // namespace weft
