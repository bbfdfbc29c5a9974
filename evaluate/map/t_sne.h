// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "evaluate/map/principal_components.h"

// Exact t-SNE: van der Maaten and Hinton, "Visualizing Data using t-SNE", JMLR 9, 2008. In f64, with sums in one order,
// and without random numbers: the same vectors give the same bits on any number of threads. Time and memory grow with
// the square of the number of vectors.
namespace weft {

// p(j|i), [count, count], of section 2: a normal density over the distances from vector i, as wide as gives this
// perplexity, exp of the entropy in nats. A row sums to 1 and is 0 on the diagonal. 1 <= perplexity < count - 1; a
// vector with more equals than that keeps their perplexity. At least 3 vectors, all finite.
std::vector<double> neighbour_probabilities(const VectorRows& vectors, double perplexity);

// p(i,j) = (p(j|i) + p(i|j)) / 2 count, which sum to 1.
std::vector<double> joint_probabilities(std::span<const double> neighbour_probabilities);

// KL(P || Q) in nats, where q(i,j) is Student's t with one degree of freedom over the places' distances.
double kl_divergence(std::span<const double> joint, std::span<const PlanePoint> places);

// Moves the places, whose scale does not matter, until the divergence is small: gradient descent with momentum, gains
// and early exaggeration. Starting at principal components keeps the large structure (Kobak and Berens 2019).
std::vector<PlanePoint> t_sne(std::span<const double> joint, std::vector<PlanePoint> start);

}  // namespace weft
