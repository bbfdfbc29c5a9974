// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

// Sums of gradients that do not depend on how their terms are grouped: fp32 numbers become integers in units of
// 2^-exponent, which all terms of a sum agree on, and integers add exactly in any order.
//
// The exponent of a parameter is chosen so that its greatest gradient lies in [2^43, 2^44) units. That leaves 7 bits
// before 2^51, where an element no longer counts; 4,096 terms below 2^51 fit an i64, and so do their low parts. A term
// is wrong by at most 1/2 unit (2^-44 of the greatest gradient) if it has a high part alone, else by 2^-53 of a unit
// (2^-96); from 2^-72 of the greatest gradient on all bits of fp32 are then there.
//
// All operations compute alike on every device, to the bit.
namespace weft {

// What is known of a parameter, i64[kFixedPointFacts]. Operations add to what is there (kFactGreatest is a maximum,
// kFactFlags a union), so that a parameter may come in pieces, on any threads and devices; the caller begins with
// zeros. The sum of squares, in units, is 2^kSquareUnitBits (squares high + 2^-31 squares low).
enum FixedPointFact : uint8_t { kFactSquaresHigh, kFactSquaresLow, kFactGreatest, kFactFlags, kFixedPointFacts };
constexpr int kSquareUnitBits = 71;
constexpr int64_t kFactOverflow = 1, kFactNonFinite = 2;  // bits of kFactFlags

// The exponents that operations take.
constexpr int32_t kLeastExponent = -200, kMostExponent = 250;

// The most terms that a sum may have, in calls with Accumulate::Add or rows, and in sums of integers.
constexpr int64_t kMostFixedPointTerms = 4096;

// A gradient in fixed point: an element is the integers (high, low) with x 2^exponent = high + low 2^-52, rounded to
// nearest. An element of at least 2^51 units counts as 0 and sets kFactOverflow, one that is not finite counts as 0 and
// sets kFactNonFinite.
struct ToFixedPoint {
  Tensor x;         // f32[n]
  Tensor exponent;  // i32[1], from kLeastExponent to kMostExponent; read when the operation runs
  Tensor high;      // i64[n]
  Tensor low;       // i64[n]; may be absent: then high is rounded, halves to even
  Tensor facts;     // of which it changes the flags alone
  Accumulate mode = Accumulate::Overwrite;
};
void to_fixed_point(Context& context, const ToFixedPoint& args);

// out = X 2^-exponent, rounded once from the f64 X = high + low 2^-52. The facts get the greatest bits of an |out|, as
// an integer, and the squares of X if they are counted: each square in f64, rounded to 2^40. An X of at least 2^51 sets
// kFactOverflow, and its square is left out.
struct FromFixedPoint {
  Tensor high, low;  // i64[n]; low may be absent
  Tensor exponent;   // i32[1], as above
  Tensor out;        // f32[n]
  Tensor facts;
  bool counted = true;
};
void from_fixed_point(Context& context, const FromFixedPoint& args);

// The exact sum of terms that are all there: out and facts are, to the bit, what to_fixed_point of each term and
// from_fixed_point of the sum would give, and no integers are stored.
struct SumExactly {
  Tensor x;  // f32[(terms - 1) stride + n]: term t begins at t stride
  int64_t terms = 1;
  int64_t stride = 0;  // at least n if there are several terms
  bool low = false;    // whether integers have a low part
  Tensor exponent;     // i32[1], as above
  Tensor out;          // f32[n]; may be the first term
  Tensor facts;
  bool counted = true;
};
void sum_exactly(Context& context, const SumExactly& args);

}  // namespace weft
