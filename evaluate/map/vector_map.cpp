// SPDX-License-Identifier: Apache-2.0
#include "evaluate/map/vector_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "evaluate/map/t_sne.h"

namespace weft {
namespace {

constexpr int64_t kNeighbours = 5;
constexpr double kLeastPerplexity = 1.5, kMostPerplexity = 30;

}  // namespace

std::vector<std::vector<Neighbour>> nearest_neighbours(std::span<const double> similarities, int64_t count,
                                                       int64_t most) {
  std::vector<std::vector<Neighbour>> nearest;
  const int64_t kept = std::min(most, count - 1);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Neighbour> others;
    for (int64_t j = 0; j < count; ++j) {
      if (j != i) others.push_back({.index = j, .similarity = similarities[i * count + j]});
    }
    std::ranges::partial_sort(others, others.begin() + kept, [](const Neighbour& a, const Neighbour& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.index < b.index;
    });
    others.resize(static_cast<size_t>(kept));
    nearest.push_back(std::move(others));
  }
  return nearest;
}

void require_mappable(int64_t count) {
  if (count >= 3 && count <= kMostMapped) return;
  throw DataError(fmt::format("a map of {} vectors: it takes from 3 to {}", count, kMostMapped),
                  count < 3 ? "give more of them" : "give a part of them");
}

VectorMap vector_map(std::vector<std::string> labels, const VectorRows& vectors) {
  const int64_t n = vectors.count();
  require<InternalError>(std::ssize(labels) == n, "{} labels of {} vectors", labels.size(), n);
  require_mappable(n);
  for (int64_t i = 0; i < n; ++i) {
    require<DataError>(std::ranges::all_of(vectors.row(i), [](float value) { return std::isfinite(value); }),
                       "vector {} of {} is not finite: it has no place in a map", i + 1, n);
  }
  VectorMap map{.labels = std::move(labels), .components = principal_components(vectors)};
  map.perplexity = std::clamp(static_cast<double>(n - 1) / 3, kLeastPerplexity, kMostPerplexity);
  const std::vector<double> joint = joint_probabilities(neighbour_probabilities(vectors, map.perplexity));
  map.t_sne = t_sne(joint, map.components.places);
  map.divergence = kl_divergence(joint, map.t_sne);
  map.similarities = cosine_similarities(vectors);
  map.neighbours = nearest_neighbours(map.similarities, n, kNeighbours);
  return map;
}

}  // namespace weft
