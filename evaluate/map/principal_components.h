// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

#include "generate/text_vectors.h"

namespace weft {

// A place on a picture: x, y.
using PlanePoint = std::array<double, 2>;

// Vectors on the plane of their two principal components (Pearson 1901; Hotelling 1933).
struct PrincipalComponents {
  std::vector<PlanePoint> places;   // of each vector, relative to their mean; zeros on an axis that no vector varies on
  std::array<double, 2> explained;  // the share of the variance on each axis
};

// In f64, with sums in one order: the same vectors give the same bits on any number of threads. An axis points to where
// the vector that is farthest along it lies, the first of equals. The vectors are finite. Takes min(count, width)^2
// numbers of memory.
PrincipalComponents principal_components(const VectorRows& vectors);

}  // namespace weft
