#include "checkpoint/parameters.h"

namespace weft {
namespace {

// The boxes of the parameter's part in a buffer; none if that part is empty.
std::vector<TensorBox> boxes_of(const ParameterRegistry& registry, const Parameter& p, const NamedBuffer& buffer) {
  const std::vector<int64_t> corner = registry.local_origin(p);
  const int64_t begin = p.flat_offset();
  std::vector<TensorBox> boxes;
  for (const FlatRange& part : buffer.flat.parts({begin, begin + p.extent().elements()})) {
    const Tensor data = buffer.flat.piece(part);
    int64_t at = 0;
    for (const Box& box : cut_flat(p.extent(), part.begin - begin, part.end - begin)) {
      std::vector<int64_t> origin = corner;
      for (size_t d = 0; d < origin.size(); ++d) origin[d] += box.origin[d];
      boxes.push_back({.buffer = buffer.name,
                       .name = p.spec().name,
                       .shape = p.spec().shape,
                       .origin = std::move(origin),
                       .data = data.flat(at, box.extent)});
      at += box.extent.elements();
    }
  }
  return boxes;
}

void append(std::vector<TensorBox>& all, std::vector<TensorBox> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  std::vector<TensorBox> boxes;
  for (const NamedBuffer& buffer : buffers) {
    for (const auto& p : registry.parameters()) append(boxes, boxes_of(registry, *p, buffer));
  }
  return boxes;
}

std::vector<TensorBox> owned_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  const Mesh& mesh = registry.mesh();
  const int64_t dp = mesh.dp().size(), total = registry.layout().elements;
  std::vector<TensorBox> boxes;
  for (const auto& p : registry.parameters()) {
    // A tensor that tp replicates is written by its first tp rank.
    if (p->spec().tp_dim < 0 && mesh.tp().rank() != 0) continue;
    const bool my_turn = p->flat_offset() * dp / total == mesh.dp().rank();
    if (!registry.layout().sharded() && !my_turn) continue;
    for (const NamedBuffer& buffer : buffers) append(boxes, boxes_of(registry, *p, buffer));
  }
  return boxes;
}

}  // namespace weft
