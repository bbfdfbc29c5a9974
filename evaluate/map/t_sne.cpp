// SPDX-License-Identifier: Apache-2.0
#include "evaluate/map/t_sne.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Settings of the paper's section 3.4.
constexpr int kIterations = 1000, kExaggerated = 100, kGentle = 250;
constexpr double kExaggeration = 4;
constexpr double kFirstMomentum = 0.5, kLaterMomentum = 0.8;
constexpr double kGainUp = 0.2, kGainDown = 0.8, kLeastGain = 0.01;
// The start's standard deviation along x.
constexpr double kStart = 1e-4;

int64_t count_of(std::span<const double> matrix) { return std::llround(std::sqrt(static_cast<double>(matrix.size()))); }

// Squared distances, [count, count], in units of their mean: probabilities do not depend on the vectors' scale.
std::vector<double> distances_of(const VectorRows& vectors) {
  const int64_t n = vectors.count();
  std::vector<double> distances(static_cast<size_t>(n * n));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      double square = 0;
      for (int64_t c = 0; c < vectors.width; ++c) {
        const double difference = double{vectors.row(i)[c]} - vectors.row(j)[c];
        square += difference * difference;
      }
      distances[i * n + j] = distances[j * n + i] = square;
      sum += square;
    }
  }
  const double mean = sum / (static_cast<double>(n * (n - 1)) / 2);
  if (mean > 0) {
    for (double& distance : distances) distance /= mean;
  }
  return distances;
}

// Writes one row of probabilities for this precision, 1 / (2 sigma^2), and returns its entropy in nats. Distances count
// from the nearest one, so that not all densities are too small for a number.
double fill_row(std::span<const double> distances, int64_t self, double nearest, double precision,
                std::span<double> row) {
  double sum = 0, weighted = 0;
  for (size_t j = 0; j < row.size(); ++j) {
    const double farther = distances[j] - nearest;
    row[j] = static_cast<int64_t>(j) == self ? 0 : std::exp(-precision * farther);
    sum += row[j], weighted += row[j] * farther;
  }
  for (double& p : row) p /= sum;
  return std::log(sum) + precision * weighted / sum;
}

// Bisects the precision; while no upper bound is known, it doubles.
void fit_row(std::span<const double> distances, int64_t self, double entropy, std::span<double> row) {
  double nearest = HUGE_VAL;
  for (size_t j = 0; j < row.size(); ++j) {
    if (static_cast<int64_t>(j) != self) nearest = std::min(nearest, distances[j]);
  }
  double low = 0, high = HUGE_VAL, precision = 1;
  for (int i = 0; i < 100; ++i) {
    if (fill_row(distances, self, nearest, precision, row) > entropy) {
      low = precision;
    } else {
      high = precision;
    }
    precision = std::isinf(high) ? 2 * precision : (low + high) / 2;
  }
}

struct Pull {
  std::vector<PlanePoint> attraction, repulsion;
  double total = 0;  // the sum of 1 / (1 + distance^2) over all pairs, each in both directions
};

// The gradient of place i is 4 (attraction[i] - repulsion[i] / total): section 3's equation 5, taken apart.
Pull pull_between(std::span<const double> joint, std::span<const PlanePoint> places) {
  const size_t n = places.size();
  Pull pull{.attraction = std::vector<PlanePoint>(n), .repulsion = std::vector<PlanePoint>(n)};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double x = places[i][0] - places[j][0], y = places[i][1] - places[j][1];
      const double near = 1 / (1 + x * x + y * y);
      const double attraction = joint[i * n + j] * near, repulsion = near * near;
      pull.total += 2 * near;
      pull.attraction[i][0] += attraction * x, pull.attraction[i][1] += attraction * y;
      pull.attraction[j][0] -= attraction * x, pull.attraction[j][1] -= attraction * y;
      pull.repulsion[i][0] += repulsion * x, pull.repulsion[i][1] += repulsion * y;
      pull.repulsion[j][0] -= repulsion * x, pull.repulsion[j][1] -= repulsion * y;
    }
  }
  return pull;
}

void centre(std::vector<PlanePoint>& places) {
  for (const size_t axis : {0, 1}) {
    double sum = 0;
    for (const PlanePoint& place : places) sum += place[axis];
    for (PlanePoint& place : places) place[axis] -= sum / static_cast<double>(places.size());
  }
}

// Makes the start so small that early on every place may pass every other one.
void shrink(std::vector<PlanePoint>& places) {
  centre(places);
  double square = 0;
  for (const PlanePoint& place : places) square += place[0] * place[0];
  if (square == 0) return;
  const double scale = kStart / std::sqrt(square / static_cast<double>(places.size()));
  for (PlanePoint& place : places) place[0] *= scale, place[1] *= scale;
}

}  // namespace

std::vector<double> neighbour_probabilities(const VectorRows& vectors, double perplexity) {
  const std::vector<double> distances = distances_of(vectors);
  const size_t n = static_cast<size_t>(vectors.count());
  std::vector<double> probabilities(n * n);
  for (size_t i = 0; i < n; ++i) {
    fit_row(std::span(distances).subspan(i * n, n), static_cast<int64_t>(i), std::log(perplexity),
            std::span(probabilities).subspan(i * n, n));
  }
  return probabilities;
}

std::vector<double> joint_probabilities(std::span<const double> neighbour_probabilities) {
  const int64_t n = count_of(neighbour_probabilities);
  std::vector<double> joint(neighbour_probabilities.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double both = neighbour_probabilities[i * n + j] + neighbour_probabilities[j * n + i];
      joint[i * n + j] = both / (2 * static_cast<double>(n));
    }
  }
  return joint;
}

double kl_divergence(std::span<const double> joint, std::span<const PlanePoint> places) {
  const double total = pull_between(joint, places).total;
  const size_t n = places.size();
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const double p = joint[i * n + j], x = places[i][0] - places[j][0], y = places[i][1] - places[j][1];
      if (p > 0) sum += p * std::log(p * (1 + x * x + y * y) * total);
    }
  }
  return sum;
}

std::vector<PlanePoint> t_sne(std::span<const double> joint, std::vector<PlanePoint> start) {
  std::vector<PlanePoint> places = std::move(start);
  shrink(places);
  const double n = static_cast<double>(places.size());
  std::vector<PlanePoint> speed(places.size()), gain(places.size(), PlanePoint{1, 1});
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Pull pull = pull_between(joint, places);
    const double exaggeration = iteration < kExaggerated ? kExaggeration : 1;
    const double momentum = iteration < kGentle ? kFirstMomentum : kLaterMomentum;
    // A place's probabilities sum to about 1 / n, so this takes it about as far as its neighbours are away.
    const double rate = n / (4 * exaggeration);
    for (size_t i = 0; i < places.size(); ++i) {
      for (const size_t axis : {0, 1}) {
        const double slope = 4 * (exaggeration * pull.attraction[i][axis] - pull.repulsion[i][axis] / pull.total);
        const bool onward = slope * speed[i][axis] < 0;
        gain[i][axis] = std::max(onward ? gain[i][axis] + kGainUp : gain[i][axis] * kGainDown, kLeastGain);
        speed[i][axis] = momentum * speed[i][axis] - rate * gain[i][axis] * slope;
        places[i][axis] += speed[i][axis];
      }
    }
    centre(places);
  }
  return places;
}

}  // namespace weft
