// SPDX-License-Identifier: Apache-2.0
// Functions that a device computes approximately. Here they are exact up to rounding (fp32: computed in fp64), and
// within the bounds of the manual; how a kernel reacts to a device's own error is not tested.
#include <array>

#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// 2^v by a polynomial in fp64 that vectorises; its error is below 1e-12, far below half a bit of fp32.
struct Exp2 {
  float operator()(float v) const {
    constexpr double kLow = -160.0, kHigh = 160.0;  // beyond these, fp32 gives 0 or infinity
    constexpr double kRoundToInteger = 0x1.8p52;
    const double x = v < kLow ? kLow : v > kHigh ? kHigh : double(v);
    const double whole = (x + kRoundToInteger) - kRoundToInteger, rest = (x - whole) * 0.693147180559945309;
    double sum = 1.0 / 479001600;
    constexpr std::array<double, 12> kFactorials = {39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
    for (const double f : kFactorials) sum = sum * rest + 1.0 / f;
    const double scale = std::bit_cast<double>((int64_t(whole) + 1023) << 52);
    return v == v ? float(sum * scale) : v;
  }
};
struct Log2 {
  float operator()(float v) const { return float(std::log2(double(v))); }
};
struct Sin {
  float operator()(float v) const { return float(std::sin(double(v))); }
};
struct Cos {
  float operator()(float v) const { return float(std::cos(double(v))); }
};
struct Tanh {
  float operator()(float v) const { return float(std::tanh(double(v))); }
};
struct Reciprocal {
  template <class T>
  T operator()(T v) const {
    return T(1) / v;
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T v) const {
    return std::sqrt(v);
  }
};
struct ReciprocalRoot {
  template <class T>
  T operator()(T v) const {
    return T(1.0 / std::sqrt(double(v)));
  }
};
template <class F>
struct Flushed {
  float operator()(float v) const { return flush(F{}(flush(v))); }
};
template <class F>
struct OfBf16 {
  uint16_t operator()(uint16_t v) const { return to_bf16(F{}(from_bf16(v))); }
};
template <class F>
struct OfBf16Pair {
  uint32_t operator()(uint32_t v) const {
    return uint32_t{OfBf16<F>{}(uint16_t(v >> 16))} << 16 | OfBf16<F>{}(uint16_t(v));
  }
};

template <class F, bool kDouble>
void decode_function(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.words.take_one({"approx", "rn"});
  if (type == "f32") s.instruction.execute = s.words.take("ftz") ? &unary<float, Flushed<F>> : &unary<float, F>;
  if constexpr (kDouble) {
    if (type == "f64") {
      s.words.take("ftz");  // applies to the low half of the result
      s.instruction.execute = &unary<double, F>;
    }
  } else {
    const bool half = type == "bf16" || type == "bf16x2";
    if (half) s.words.take("ftz");
    if (type == "bf16") s.instruction.execute = &unary<uint16_t, OfBf16<F>>;
    if (type == "bf16x2") s.instruction.execute = &unary<uint32_t, OfBf16Pair<F>>;
  }
}

constexpr TableEntry kTable[] = {
    {"ex2", &decode_function<Exp2, false>, 2},       {"lg2", &decode_function<Log2, false>, 2},
    {"sin", &decode_function<Sin, false>, 2},        {"cos", &decode_function<Cos, false>, 2},
    {"tanh", &decode_function<Tanh, false>, 2},      {"rcp", &decode_function<Reciprocal, true>, 2},
    {"sqrt", &decode_function<SquareRoot, true>, 2}, {"rsqrt", &decode_function<ReciprocalRoot, true>, 2},
};

}  // namespace

std::span<const TableEntry> approximate_instructions() { return kTable; }

}  // namespace weft::cuda_device
