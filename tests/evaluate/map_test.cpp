// SPDX-License-Identifier: Apache-2.0
// Vectors in two dimensions: principal components, t-SNE and nearest neighbours, of vectors whose places are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/philox.h"
#include "evaluate/map/t_sne.h"
#include "evaluate/map/vector_map.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

float noise(uint32_t i, uint32_t j) { return static_cast<float>(uniform_open(Philox(7)({i, j, 0, 0})[0]) - 0.5); }

// Vector i belongs to group i % groups; groups are `apart` from each other, and a vector at most 0.5 from the middle of
// its group along each element.
VectorRows grouped(int64_t count, int64_t width, int64_t groups, float apart) {
  VectorRows vectors{.width = width, .values = std::vector<float>(static_cast<size_t>(count * width))};
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < width; ++c) {
      const float middle = c == i % groups ? apart : 0;
      vectors.values[i * width + c] = middle + noise(static_cast<uint32_t>(i), static_cast<uint32_t>(c));
    }
  }
  return vectors;
}

std::vector<std::string> names(int64_t count) {
  std::vector<std::string> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(std::to_string(i));
  return list;
}

double distance(const PlanePoint& a, const PlanePoint& b) { return std::hypot(a[0] - b[0], a[1] - b[1]); }

// Whether the point nearest to each point is of its group.
bool groups_are_apart(const std::vector<PlanePoint>& places, size_t groups) {
  for (size_t i = 0; i < places.size(); ++i) {
    size_t nearest = i == 0 ? 1 : 0;
    for (size_t j = 0; j < places.size(); ++j) {
      if (j != i && distance(places[i], places[j]) < distance(places[i], places[nearest])) nearest = j;
    }
    if (nearest % groups != i % groups) return false;
  }
  return true;
}

// Vectors that vary along (3, 4) / 5 with variance 50 and along (-4, 3) / 5 with variance 2, and not elsewhere.
TEST(PrincipalComponents, AxesAreThoseOfTheVariance) {
  for (const int64_t width : {2, 9}) {  // fewer elements than vectors, and more
    VectorRows vectors{.width = width};
    for (const auto& [along, across] : std::vector<PlanePoint>{{10, 0}, {-10, 0}, {0, 2}, {0, -2}}) {
      std::vector<float> row(static_cast<size_t>(width), 1);
      row[0] += static_cast<float>(0.6 * along - 0.8 * across),
          row[1] += static_cast<float>(0.8 * along + 0.6 * across);
      vectors.values.insert(vectors.values.end(), row.begin(), row.end());
    }
    const PrincipalComponents found = principal_components(vectors);
    EXPECT_NEAR(found.explained[0], 50.0 / 52, 1e-6) << width;
    EXPECT_NEAR(found.explained[1], 2.0 / 52, 1e-6) << width;
    const std::vector<PlanePoint> expected{{10, 0}, {-10, 0}, {0, 2}, {0, -2}};
    for (size_t i = 0; i < 4; ++i) {
      // A sign is that of the farthest vector; which of two that are equally far it is, rounding decides.
      EXPECT_NEAR(std::abs(found.places[i][0]), std::abs(expected[i][0]), 1e-5) << width << " " << i;
      EXPECT_NEAR(std::abs(found.places[i][1]), std::abs(expected[i][1]), 1e-5) << width << " " << i;
    }
    EXPECT_NEAR(found.places[0][0], -found.places[1][0], 1e-5);
  }
}

TEST(PrincipalComponents, AxisPointsToTheFarthestVector) {
  const PrincipalComponents found = principal_components({.width = 1, .values = {0, 1, -8, 2}});
  EXPECT_NEAR(found.explained[0], 1, 1e-12);
  EXPECT_EQ(found.explained[1], 0);
  const std::vector<double> expected{-1.25, -2.25, 6.75, -3.25};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.places[i][0], expected[i], 1e-12);
    EXPECT_EQ(found.places[i][1], 0);
  }
}

// The distances on a plane are those of the vectors, if these lie on a plane. Its two eigenvalues are equal.
TEST(PrincipalComponents, CircleStaysACircle) {
  VectorRows vectors{.width = 5};
  for (int i = 0; i < 12; ++i) {
    const double angle = 2 * std::numbers::pi * i / 12;
    for (const double value : {std::cos(angle), 7.0, std::sin(angle), 0.0, -2.0})
      vectors.values.push_back(static_cast<float>(value));
  }
  const PrincipalComponents found = principal_components(vectors);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(std::hypot(found.places[i][0], found.places[i][1]), 1, 1e-6);
    EXPECT_NEAR(distance(found.places[i], found.places[(i + 1) % 12]), 2 * std::sin(std::numbers::pi / 12), 1e-6);
  }
  EXPECT_NEAR(found.explained[0], 0.5, 1e-6);
  EXPECT_NEAR(found.explained[1], 0.5, 1e-6);
}

TEST(PrincipalComponents, EqualVectorsLieInOnePlace) {
  const PrincipalComponents found = principal_components({.width = 3, .values = std::vector<float>(12, 0.1f)});
  for (const PlanePoint& place : found.places) EXPECT_LT(std::hypot(place[0], place[1]), 1e-6);
}

TEST(NeighbourProbabilities, HaveThePerplexity) {
  const VectorRows vectors = grouped(40, 6, 4, 3);
  for (const double perplexity : {2.0, 5.0, 30.0}) {
    const std::vector<double> found = neighbour_probabilities(vectors, perplexity);
    for (size_t i = 0; i < 40; ++i) {
      double sum = 0, entropy = 0;
      for (size_t j = 0; j < 40; ++j) {
        const double p = found[i * 40 + j];
        sum += p;
        if (p > 0) entropy -= p * std::log(p);
      }
      EXPECT_EQ(found[i * 40 + i], 0);
      EXPECT_NEAR(sum, 1, 1e-12);
      EXPECT_NEAR(std::exp(entropy), perplexity, 1e-6);
    }
  }
}

TEST(NeighbourProbabilities, DoNotDependOnTheScale) {
  VectorRows vectors = grouped(10, 4, 2, 3);
  const std::vector<double> expected = neighbour_probabilities(vectors, 3);
  for (float& value : vectors.values) value *= 0x1p60f;
  const std::vector<double> found = neighbour_probabilities(vectors, 3);
  for (size_t i = 0; i < 100; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
}

TEST(JointProbabilities, AreSymmetricAndSumToOne) {
  const std::vector<double> joint = joint_probabilities(neighbour_probabilities(grouped(12, 5, 3, 2), 4));
  double sum = 0;
  for (size_t i = 0; i < 12; ++i) {
    for (size_t j = 0; j < 12; ++j) {
      EXPECT_EQ(joint[i * 12 + j], joint[j * 12 + i]);
      sum += joint[i * 12 + j];
    }
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// By hand: three places in a row, and probabilities for two pairs.
TEST(KlDivergence, EqualsTheDefinition) {
  const std::vector<double> joint{0, 0.3, 0, 0.3, 0, 0.2, 0, 0.2, 0};
  const std::vector<PlanePoint> places{{0, 0}, {1, 0}, {1, 2}};
  const double near = 1.0 / 2, far = 1.0 / 5, farthest = 1.0 / 6, total = 2 * (near + far + farthest);
  const double expected = 2 * (0.3 * std::log(0.3 / (near / total)) + 0.2 * std::log(0.2 / (far / total)));
  EXPECT_NEAR(kl_divergence(joint, places), expected, 1e-12);
}

TEST(TSne, LowersTheDivergenceAndKeepsGroupsApart) {
  const VectorRows vectors = grouped(45, 8, 3, 4);
  const PrincipalComponents start = principal_components(vectors);
  const std::vector<double> joint = joint_probabilities(neighbour_probabilities(vectors, 10));
  const std::vector<PlanePoint> found = t_sne(joint, start.places);
  EXPECT_LT(kl_divergence(joint, found), 0.5 * kl_divergence(joint, start.places));
  EXPECT_TRUE(groups_are_apart(found, 3));
}

// Ten groups that are equally far from each other fit on no plane.
TEST(TSne, KeepsGroupsApartThatPrincipalComponentsMix) {
  const VectorMap map = vector_map(names(60), grouped(60, 10, 10, 3));
  EXPECT_FALSE(groups_are_apart(map.components.places, 10));
  EXPECT_TRUE(groups_are_apart(map.t_sne, 10));
}

// The slope that moves the places is that of the divergence: where it has become flat, no small step lowers it.
TEST(TSne, EndsWhereNoSmallStepIsBetter) {
  const VectorRows vectors = grouped(24, 5, 3, 4);
  const std::vector<double> joint = joint_probabilities(neighbour_probabilities(vectors, 6));
  std::vector<PlanePoint> places = t_sne(joint, principal_components(vectors).places);
  const double reached = kl_divergence(joint, places);
  for (const size_t i : {0, 7, 23}) {
    for (const double step : {-0.05, 0.05}) {
      const double before = places[i][0];
      places[i][0] += step;
      EXPECT_GT(kl_divergence(joint, places), reached - 1e-5);
      places[i][0] = before;
    }
  }
}

TEST(TSne, EqualVectorsHavePlaces) {
  const VectorMap map = vector_map(names(4), {.width = 2, .values = std::vector<float>(8, 1)});
  for (const PlanePoint& place : map.t_sne) EXPECT_TRUE(std::isfinite(place[0]) && std::isfinite(place[1]));
}

TEST(VectorMap, SameVectorsGiveTheSameBits) {
  const VectorRows vectors = grouped(30, 7, 3, 2);
  const VectorMap first = vector_map(names(30), vectors), second = vector_map(names(30), vectors);
  EXPECT_EQ(first.components.places, second.components.places);
  EXPECT_EQ(first.t_sne, second.t_sne);
  EXPECT_EQ(first.divergence, second.divergence);
  EXPECT_EQ(first.similarities, second.similarities);
}

TEST(VectorMap, ThreeVectorsAreEnough) {
  const VectorMap map = vector_map(names(3), {.width = 2, .values = {0, 1, 1, 0, 5, 5}});
  EXPECT_EQ(map.perplexity, 1.5);
  EXPECT_EQ(map.neighbours[0].size(), 2u);
  EXPECT_EQ(map.neighbours[0][0].index, 2);
  for (const PlanePoint& place : map.t_sne) EXPECT_TRUE(std::isfinite(place[0]) && std::isfinite(place[1]));
}

TEST(VectorMap, RefusesWhatHasNoPlace) {
  const auto said = [](VectorRows vectors) {
    return error_of<DataError>([&] { vector_map(names(vectors.count()), vectors); });
  };
  EXPECT_THAT(said({.width = 1, .values = {1, 2}}), HasSubstr("a map of 2 vectors: it takes from 3 to 2000"));
  EXPECT_THAT(said({.width = 1, .values = std::vector<float>(2001)}), HasSubstr("a map of 2001 vectors"));
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(said({.width = 2, .values = {1, 2, 3, 4, 5, infinite}}), HasSubstr("vector 3 of 3 is not finite"));
}

TEST(NearestNeighbours, AreInOrderAndOfEqualsTheFirst) {
  const std::vector<double> similarities{1,   0.5, 0.5, 0.9,  //
                                         0.5, 1,   -1,  0.5,  //
                                         0.5, -1,  1,   0,    //
                                         0.9, 0.5, 0,   1};
  const auto found = nearest_neighbours(similarities, 4, 2);
  const auto indices = [&](size_t of) { return std::pair(found[of][0].index, found[of][1].index); };
  EXPECT_EQ(indices(0), std::pair(int64_t{3}, int64_t{1}));
  EXPECT_EQ(indices(1), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(indices(2), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(found[0][0].similarity, 0.9);
  EXPECT_EQ(nearest_neighbours(similarities, 4, 9)[3].size(), 3u);
}

}  // namespace
}  // namespace weft
