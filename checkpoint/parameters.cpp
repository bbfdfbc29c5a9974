#include "checkpoint/parameters.h"

#include <algorithm>

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

namespace {

std::vector<TensorBox> owned_by(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers, int dp_rank,
                                int tp_rank) {
  const int64_t dp = registry.mesh().dp().size(), total = registry.layout().elements;
  std::vector<TensorBox> boxes;
  for (const auto& p : registry.parameters()) {
    // A tensor that tp replicates is written by its first tp rank.
    if (p->spec().tp_dim < 0 && tp_rank != 0) continue;
    const bool its_turn = p->flat_offset() * dp / total == dp_rank;
    if (!registry.layout().sharded() && !its_turn) continue;
    for (const NamedBuffer& buffer : buffers) append(boxes, boxes_of(registry, *p, buffer));
  }
  return boxes;
}

}  // namespace

std::vector<TensorBox> owned_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  return owned_by(registry, buffers, registry.mesh().dp().rank(), registry.mesh().tp().rank());
}

// Where replicas divide the buffers all own as much, but for padding.
uint64_t largest_part_bytes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  uint64_t most = 0;
  const int replicas = registry.layout().sharded() ? 1 : registry.mesh().dp().size();
  for (int replica = 0; replica < replicas; ++replica) {
    uint64_t bytes = 0;
    for (const TensorBox& box : owned_by(registry, buffers, replica, 0)) bytes += box.data.bytes();
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace weft
