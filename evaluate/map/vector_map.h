// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "evaluate/map/principal_components.h"

namespace weft {

// t-SNE compares all pairs a thousand times: with so many vectors it takes about 12 seconds and 160 MB.
inline constexpr int64_t kMostMapped = 2000;

struct Neighbour {
  int64_t index = 0;
  double similarity = 0;  // the cosine
};

// For each vector up to `most` others, the most similar first; of equals the one with the lower index.
// `similarities`: [count, count] of finite numbers, as of cosine_similarities().
std::vector<std::vector<Neighbour>> nearest_neighbours(std::span<const double> similarities, int64_t count,
                                                       int64_t most);

// Vectors in two dimensions, in two ways, and how similar they are.
struct VectorMap {
  std::vector<std::string> labels;  // what each vector is the vector of
  PrincipalComponents components;
  double perplexity = 0;             // of t-SNE: a third of the other vectors, 30 at most
  double divergence = 0;             // what t-SNE has reached, in nats
  std::vector<PlanePoint> t_sne;     // it begins at the principal components
  std::vector<double> similarities;  // cosines, [count, count]
  std::vector<std::vector<Neighbour>> neighbours;
};

// DataError if there are fewer than 3 vectors or more than kMostMapped. Commands ask before they begin to work.
void require_mappable(int64_t count);
// DataError as above, or if a vector is not finite. Runs on one thread; the same vectors give the same bits.
VectorMap vector_map(std::vector<std::string> labels, const VectorRows& vectors);

}  // namespace weft
