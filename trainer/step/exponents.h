// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft {

// The facts of a parameter's gradient in one step, of all its elements (kernels/ops/exact/fixed_point.h).
struct GradientFacts {
  double squares = 0;   // in units of 2^(kSquareUnitBits - 2 exponent)
  double greatest = 0;  // The sum of the greatest magnitude has this one.
  bool overflow = false, not_finite = false;
};

// The exponents in which gradients are summed as integers, one a parameter. Each follows from the gradient of the step
// before alone: its greatest element then lies in [2^43, 2^44), so that it may grow 128-fold before an integer
// overflows, and elements down to 2^-20 of it are as precise as fp32. Where that fails the step is computed again:
//   overflow                             with an exponent lower by 30
//   no gradient is known yet, or this    with the exponent that its own gradient asks for
//   one is 2^20 times smaller
// All of it follows from gradients, which do not depend on the layout.
class Exponents {
 public:
  static constexpr int32_t kUnknown = std::numeric_limits<int32_t>::min();

  explicit Exponents(size_t parameters) : known_(parameters, kUnknown), now_(parameters), from_(parameters) {
    begin_step();
  }
  // By index of parameter, as a checkpoint keeps them; kUnknown: no gradient was seen.
  const std::vector<int32_t>& known() const { return known_; }
  // Takes those of a checkpoint; all are unknown if it has none, or those of other parameters.
  void restore(const std::vector<int32_t>& known);

  void begin_step();
  const std::vector<int32_t>& now() const { return now_; }  // those to compute with
  // Takes the facts of what was computed; true if it has to be computed again.
  bool must_repeat(std::span<const GradientFacts> facts);
  // The step counts: the next one's exponents follow from these facts.
  void end_step(std::span<const GradientFacts> facts);

 private:
  // What the exponent of a parameter follows from in this step: the step before, its own gradient, an overflow.
  enum class From : uint8_t { Before, Itself, Overflow };

  std::vector<int32_t> known_, now_;
  std::vector<From> from_;
};

// The sum of all squares; not finite if some gradient is not.
double squared_norm(std::span<const GradientFacts> facts, std::span<const int32_t> exponents);

}  // namespace weft
