// SPDX-License-Identifier: Apache-2.0
#include "evaluate/map/principal_components.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"

namespace weft {
namespace {

// Vectors that subspace iteration turns together: with more than two of them it converges as the ninth eigenvalue is to
// the second, not as the third is, which may be as large.
constexpr int64_t kBlock = 8;
constexpr int kMostTurns = 500;
// The error of an eigenvector C q = l q, relative to the largest eigenvalue, at which it is exact enough.
constexpr double kExact = 1e-11;
// A share of the variance below which an axis holds rounding errors alone.
constexpr double kNothing = 1e-14;

struct DenseMatrix {
  DenseMatrix(int64_t r, int64_t c) : rows(r), columns(c), values(static_cast<size_t>(r * c)) {}
  double& at(int64_t r, int64_t c) { return values[r * columns + c]; }
  double at(int64_t r, int64_t c) const { return values[r * columns + c]; }
  int64_t rows, columns;
  std::vector<double> values;
};

// [count, width], each column less its mean.
DenseMatrix centred(const VectorRows& vectors) {
  DenseMatrix x(vectors.count(), vectors.width);
  std::ranges::copy(vectors.values, x.values.begin());
  for (int64_t c = 0; c < x.columns; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < x.rows; ++r) sum += x.at(r, c);
    for (int64_t r = 0; r < x.rows; ++r) x.at(r, c) -= sum / static_cast<double>(x.rows);
  }
  return x;
}

DenseMatrix transposed(const DenseMatrix& x) {
  DenseMatrix t(x.columns, x.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.columns; ++c) t.at(c, r) = x.at(r, c);
  }
  return t;
}

// a^T b: a sum over the rows, in their order.
DenseMatrix product_of_transposed(const DenseMatrix& a, const DenseMatrix& b) {
  DenseMatrix product(a.columns, b.columns);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t i = 0; i < a.columns; ++i) {
      const double factor = a.at(r, i);
      for (int64_t j = 0; j < b.columns; ++j) product.at(i, j) += factor * b.at(r, j);
    }
  }
  return product;
}

// Makes the columns orthonormal by Gram-Schmidt, twice as rounding asks for. A column that depends on those before it
// becomes zero.
void orthonormalise(DenseMatrix& q) {
  for (int64_t j = 0; j < q.columns; ++j) {
    const auto dot = [&](int64_t a, int64_t b) {
      double sum = 0;
      for (int64_t r = 0; r < q.rows; ++r) sum += q.at(r, a) * q.at(r, b);
      return sum;
    };
    const double before = std::sqrt(dot(j, j));
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t i = 0; i < j; ++i) {
        const double along = dot(i, j);
        for (int64_t r = 0; r < q.rows; ++r) q.at(r, j) -= along * q.at(r, i);
      }
    }
    const double norm = std::sqrt(dot(j, j)), scale = norm > 1e-13 * before ? 1 / norm : 0;
    for (int64_t r = 0; r < q.rows; ++r) q.at(r, j) *= scale;
  }
}

// Jacobi's rotations of a small symmetric matrix: leaves its eigenvalues on the diagonal, returns the eigenvectors as
// columns.
DenseMatrix diagonalise(DenseMatrix& m) {
  const int64_t n = m.rows;
  DenseMatrix vectors(n, n);
  for (int64_t i = 0; i < n; ++i) vectors.at(i, i) = 1;
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (m.at(p, q) == 0) continue;
        const double theta = (m.at(q, q) - m.at(p, p)) / (2 * m.at(p, q));
        const double t = std::copysign(1, theta) / (std::abs(theta) + std::hypot(theta, 1));
        const double c = 1 / std::hypot(t, 1), s = t * c;
        const auto rotate = [&](double& a, double& b) {
          const double old = a;
          a = c * old - s * b, b = s * old + c * b;
        };
        for (int64_t k = 0; k < n; ++k) rotate(m.at(k, p), m.at(k, q));
        for (int64_t k = 0; k < n; ++k) rotate(m.at(p, k), m.at(q, k));
        for (int64_t k = 0; k < n; ++k) rotate(vectors.at(k, p), vectors.at(k, q));
      }
    }
  }
  return vectors;
}

// x times the columns of `turn` that belong to the largest eigenvalues first.
DenseMatrix turned(const DenseMatrix& x, const DenseMatrix& turn, const std::vector<int64_t>& order) {
  DenseMatrix y(x.rows, x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t j = 0; j < x.columns; ++j) {
      for (int64_t k = 0; k < x.columns; ++k) y.at(r, j) += x.at(r, k) * turn.at(k, order[j]);
    }
  }
  return y;
}

struct LeadingEigenvectors {
  DenseMatrix vectors;         // as columns, the largest eigenvalue's first
  std::vector<double> values;  // in the same order
};

// Subspace iteration with Rayleigh-Ritz (Golub and Van Loan, Matrix Computations, 8.2) from a start that has no
// structure, so that it is orthogonal to no eigenvector.
LeadingEigenvectors leading_eigenvectors(const DenseMatrix& symmetric) {
  const int64_t n = symmetric.rows, block = std::min(n, kBlock);
  DenseMatrix q(n, block);
  for (size_t i = 0; i < q.values.size(); ++i) {
    q.values[i] = uniform_open(Philox(0)({static_cast<uint32_t>(i), 0, 0, 0})[0]) - 0.5;
  }
  for (int turns = 0;; ++turns) {
    orthonormalise(q);
    const DenseMatrix y = product_of_transposed(symmetric, q);
    DenseMatrix small = product_of_transposed(q, y);
    const DenseMatrix turn = diagonalise(small);
    std::vector<int64_t> order(static_cast<size_t>(block));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return small.at(a, a) > small.at(b, b); });
    LeadingEigenvectors found{.vectors = turned(q, turn, order)};
    for (const int64_t at : order) found.values.push_back(std::max(small.at(at, at), 0.0));
    q = turned(y, turn, order);
    double error = 0;
    for (int64_t j = 0; j < std::min<int64_t>(block, 2); ++j) {
      double square = 0;
      for (int64_t r = 0; r < n; ++r) square += std::pow(q.at(r, j) - found.values[j] * found.vectors.at(r, j), 2);
      error = std::max(error, std::sqrt(square));
    }
    if (error <= kExact * found.values[0] || turns == kMostTurns) return found;
  }
}

void fix_sign(std::vector<PlanePoint>& places, size_t axis) {
  const auto farthest = std::ranges::max_element(
      places, [&](const PlanePoint& a, const PlanePoint& b) { return std::abs(a[axis]) < std::abs(b[axis]); });
  if ((*farthest)[axis] >= 0) return;
  for (PlanePoint& place : places) place[axis] = -place[axis];
}

}  // namespace

PrincipalComponents principal_components(const VectorRows& vectors) {
  const DenseMatrix x = centred(vectors);
  PrincipalComponents found{.places = std::vector<PlanePoint>(static_cast<size_t>(x.rows)), .explained = {}};
  // X^T X and X X^T have the same eigenvalues; the smaller one is cheaper.
  const bool by_count = x.rows < x.columns;
  const DenseMatrix base = by_count ? transposed(x) : x;
  const DenseMatrix products = product_of_transposed(base, base);
  double variance = 0;
  for (int64_t i = 0; i < products.rows; ++i) variance += products.at(i, i);
  if (!(variance > 0)) return found;
  const LeadingEigenvectors leading = leading_eigenvectors(products);
  for (int64_t axis = 0; axis < std::min<int64_t>(leading.vectors.columns, 2); ++axis) {
    if (leading.values[axis] <= kNothing * variance) break;
    found.explained[axis] = leading.values[axis] / variance;
    for (int64_t r = 0; r < x.rows; ++r) {
      double place = 0;
      if (by_count) {
        place = leading.vectors.at(r, axis) * std::sqrt(leading.values[axis]);
      } else {
        for (int64_t c = 0; c < x.columns; ++c) place += x.at(r, c) * leading.vectors.at(c, axis);
      }
      found.places[r][axis] = place;
    }
    fix_sign(found.places, static_cast<size_t>(axis));
  }
  return found;
}

}  // namespace weft
