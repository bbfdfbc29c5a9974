// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "parallel/axis.h"

namespace weft {

// How the ranks of the grid hold a tensor: on each axis they divide one of its dims, or all of them hold the same
// values. The replicas (dp) hold the same values; FlatLayout describes how they divide optimizer state.
class Placement {
 public:
  struct ShardedDim {
    MeshAxis axis;
    int dim;
  };
  // Replicated on every axis that is not named. InternalError if an axis or a dim is named twice, or dp is.
  Placement(std::initializer_list<ShardedDim> sharded = {}) {
    for (const auto& [axis, dim] : sharded) {
      for (const std::optional<int>& taken : dims_)
        require<InternalError>(taken != dim, "dim {} is divided twice", dim);
      std::optional<int>& mine = dims_[static_cast<size_t>(axis)];
      require<InternalError>(!mine && axis != MeshAxis::World && axis != MeshAxis::Dp, "axis {} cannot divide dim {}",
                             name(axis), dim);
      mine = dim;
    }
  }

  // The dim that the axis divides; nullopt if its ranks hold the same values.
  std::optional<int> dim(MeshAxis axis) const { return dims_[static_cast<size_t>(axis)]; }

 private:
  std::array<std::optional<int>, kMeshAxes> dims_{};
};

inline Placement sharded(MeshAxis axis, int dim) { return {{axis, dim}}; }

}  // namespace weft
