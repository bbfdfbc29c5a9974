// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

namespace weft {

// The values that the bottom and the top of a curve stand for. On a logarithmic scale both are above 0.
struct CurveScale {
  double low = 0, high = 1;
  bool logarithmic = false;
  // Holds all values that are finite, logarithmic if they are positive and span more than a factor of 3; low < high.
  static CurveScale of(std::span<const double> values);
  // Where a value lies: 0 at the bottom, 1 at the top.
  double place(double value) const;
};

// `rows` lines of `columns` characters, the top first, that show values from left to right: with UTF-8 characters of
// two by four dots (the Braille patterns of Unicode), else with asterisks. Between two values the curve is straight;
// where one of them is NaN there is a gap.
std::vector<std::string> dotted_curve(std::span<const double> values, const CurveScale& scale, int columns, int rows,
                                      bool utf8);

}  // namespace weft
