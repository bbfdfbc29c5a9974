// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parameters.h"

#include <algorithm>
#include <functional>
#include <map>

namespace weft {
namespace {

// A parameter's part in a buffer, cut at the borders of the ranges that this rank owns.
std::vector<OwnedArray::Piece> pieces_of(const ParameterRegistry& registry, const Parameter& p,
                                         const FlatBuffer& flat) {
  const int64_t begin = p.flat_offset();
  std::vector<OwnedArray::Piece> pieces;
  for (const FlatRange& part : flat.parts({begin, begin + p.extent().elements()})) {
    const Stretch place{p.spec().name, p.spec().shape,     registry.local_origin(p),
                        p.extent(),    part.begin - begin, part.end - begin};
    pieces.push_back({place, flat.piece(part)});
  }
  return pieces;
}

}  // namespace

std::vector<TensorBox> local_boxes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  std::vector<TensorBox> boxes;
  for (const NamedBuffer& buffer : buffers) {
    for (const auto& p : registry.parameters()) {
      for (const auto& [place, data] : pieces_of(registry, *p, buffer.flat)) {
        int64_t at = 0;
        for (const Box& box : boxes_of(place, 0, place.elements())) {
          boxes.push_back({.buffer = buffer.name,
                           .name = place.name,
                           .shape = place.shape,
                           .origin = box.origin,
                           .data = data.flat(at, box.extent)});
          at += box.extent.elements();
        }
      }
    }
  }
  return boxes;
}

std::vector<TensorBox> master_boxes(const ParameterRegistry& registry) {
  const NamedBuffer master{kMasterBuffer, registry.master()};
  return local_boxes(registry, {&master, 1});
}

namespace {

// The index of the owned range that holds an element.
size_t range_of(const FlatLayout& layout, int64_t element) {
  const auto at = std::ranges::find_if(
      layout.owned, [&](const FlatRange& owned) { return owned.begin <= element && element < owned.end; });
  return static_cast<size_t>(at - layout.owned.begin());
}

// The arrays that one rank of `replica` writes: its share of the parameters for which `writes` is true.
std::vector<OwnedArray> owned_by(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers, int replica,
                                 const std::function<bool(const Parameter&)>& writes) {
  const FlatLayout& layout = registry.layout();
  const int64_t replicas = registry.mesh().dp().size();
  std::vector<OwnedArray> arrays;
  for (const NamedBuffer& buffer : buffers) {
    std::map<size_t, OwnedArray> by_range;
    for (const auto& p : registry.parameters()) {
      if (!writes(*p)) continue;
      const bool its_turn = p->flat_offset() * replicas / layout.elements == replica;
      if (!layout.sharded() && !its_turn) continue;
      for (OwnedArray::Piece& piece : pieces_of(registry, *p, buffer.flat)) {
        OwnedArray& array = by_range[range_of(layout, p->flat_offset() + piece.place.begin)];
        array.buffer = buffer.name, array.dtype = piece.data.dtype();
        array.pieces.push_back(std::move(piece));
      }
    }
    for (auto& [range, array] : by_range) arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace

std::vector<OwnedArray> owned_arrays(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  return owned_by(registry, buffers, registry.mesh().dp().rank(),
                  [&](const Parameter& p) { return registry.counts(p); });
}

// The first rank of a replica writes a part of every parameter. If the replicas divide the buffers, all own equal
// amounts except for padding.
uint64_t largest_part_bytes(const ParameterRegistry& registry, std::span<const NamedBuffer> buffers) {
  uint64_t most = 0;
  const int replicas = registry.layout().sharded() ? 1 : registry.mesh().dp().size();
  for (int replica = 0; replica < replicas; ++replica) {
    most = std::max(most, bytes_in_pages(owned_by(registry, buffers, replica, [](const Parameter&) { return true; })));
  }
  return most;
}

}  // namespace weft
