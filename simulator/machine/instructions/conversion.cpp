// SPDX-License-Identifier: Apache-2.0
// cvt: between integers, fp32, fp64, bf16 and tf32. Operands may be wider than their type: the low part
// is read; a result is sign-extended or zero-extended.
#include <limits>

#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

template <class T>
void read_lanes(const Warp& w, const Operand& o, T (&values)[kLanes]) {
  const std::byte* from = w.registers + o.place;
  if (o.width == sizeof(T)) {
    std::memcpy(values, from, sizeof values);
    return;
  }
  for (int l = 0; l < kLanes; ++l) std::memcpy(&values[l], from + l * o.width, sizeof(T));
}

template <class W, class T>
void write_wide(Warp& w, const Operand& o, const T (&values)[kLanes]) {
  W* d = w.lanes<W>(o);
  for_lanes(w.exec, [&](int l) { d[l] = W(values[l]); });
}
template <class T>
void write_lanes(Warp& w, const Operand& o, const T (&values)[kLanes]) {
  if (o.width == sizeof(T)) return write_wide<T>(w, o, values);
  if constexpr (std::is_integral_v<T>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if (o.width == 2) return write_wide<std::conditional_t<kSigned, int16_t, uint16_t>>(w, o, values);
    if (o.width == 4) return write_wide<std::conditional_t<kSigned, int32_t, uint32_t>>(w, o, values);
    if (o.width == 8) return write_wide<std::conditional_t<kSigned, int64_t, uint64_t>>(w, o, values);
  }
}

template <class D, class S, class F>
void convert(Warp& w, const Instruction& i) {
  S from[kLanes];
  D to[kLanes];
  read_lanes(w, i.operands[1], from);
  for (int l = 0; l < kLanes; ++l) to[l] = F{}(from[l]);
  write_lanes(w, i.operands[0], to);
}

// ---- conversions of single values

template <class D>
struct Plain {
  template <class S>
  D operator()(S v) const {
    return D(v);
  }
};

template <Round kRound>
struct ToInteger {
  template <class S>
  S operator()(S v) const {
    if constexpr (kRound == Round::Zero) return std::trunc(v);
    if constexpr (kRound == Round::Down) return std::floor(v);
    if constexpr (kRound == Round::Up) return std::ceil(v);
    return std::nearbyint(v);
  }
};
// Float to integer clamps at the ends of the type. NaN becomes 0 between types of at most 32 bits, and else the type's
// highest bit (PTX ISA, cvt).
template <class D, Round kRound>
struct Clamped {
  template <class S>
  D operator()(S v) const {
    using Limits = std::numeric_limits<D>;
    const S r = ToInteger<kRound>{}(v);
    constexpr bool kWide = sizeof(S) == 8 || sizeof(D) == 8;
    if (!(r == r)) return kWide ? D(std::make_unsigned_t<D>(1) << (8 * sizeof(D) - 1)) : D(0);
    if (r <= S(Limits::min())) return Limits::min();
    return r >= S(Limits::max()) ? Limits::max() : D(r);
  }
};
// Integer to integer with .sat.
template <class D>
struct ClampedInteger {
  template <class S>
  D operator()(S v) const {
    using Limits = std::numeric_limits<D>;
    const auto wide = __int128(v);
    return wide < __int128(Limits::min()) ? Limits::min() : wide > __int128(Limits::max()) ? Limits::max() : D(v);
  }
};
// Conversions to fp32 from a wider type.
template <Round kRound>
struct ToFloat {
  template <class S>
  float operator()(S v) const {
    if constexpr (std::is_floating_point_v<S>) return round_exact<kRound>(v, 0.0);
    const auto high = double(v);  // loses bits of 64-bit integers; a second part holds the rest exactly
    const auto low = double(__int128(v) - __int128(high));
    return round_exact<kRound>(high, low);
  }
};
template <bool kFlush, bool kSaturate, class F>
struct Adjusted {
  float operator()(float v) const {
    const float r = F{}(kFlush ? flush(v) : v);
    return kSaturate ? saturate(r) : r;
  }
};
template <class F>
struct FlushedInput {
  auto operator()(float v) const { return F{}(flush(v)); }
};
template <class F>
struct FlushedResult {
  template <class S>
  float operator()(S v) const {
    return flush(F{}(v));
  }
};
struct FromBf16 {
  float operator()(uint16_t v) const { return from_bf16(v); }
};
template <bool kZero, bool kRelu>
struct ToBf16 {
  uint16_t operator()(float v) const {
    if (kRelu && v <= 0.f) v = 0.f;  // NaN stays NaN
    return kZero ? to_bf16_toward_zero(v) : to_bf16(v);
  }
};
struct ToTf32 {
  uint32_t operator()(float v) const { return to_tf32(v); }
};

template <class F>
void pack_bf16(Warp& w, const Instruction& i) {  // cvt.rn.bf16x2.f32 d, high, low
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const auto *high = w.lanes<float>(i.operands[1]), *low = w.lanes<float>(i.operands[2]);
  for_lanes(w.exec, [=](int l) { d[l] = uint32_t{F{}(high[l])} << 16 | F{}(low[l]); });
}

// ---- functions for the words of an opcode

template <class F>
Execute for_all_integers(std::string_view type, F pick) {
  if (type == "u8") return pick(uint8_t{});
  if (type == "s8") return pick(int8_t{});
  return for_integers(type, pick);
}

Execute integer_to_integer(std::string_view to, std::string_view from, bool sat) {
  return for_all_integers(from, [&](auto s) {
    return for_all_integers(to, [&](auto d) -> Execute {
      using S = decltype(s);
      using D = decltype(d);
      return sat ? &convert<D, S, ClampedInteger<D>> : &convert<D, S, Plain<D>>;
    });
  });
}

template <class S>
Execute float_to_integer(std::string_view to, std::string_view round, bool ftz) {
  return for_all_integers(to, [&](auto d) -> Execute {
    using D = decltype(d);
    const auto pick = [&]<class F>(F) -> Execute {
      if constexpr (std::is_same_v<S, float>)
        if (ftz) return &convert<D, S, FlushedInput<F>>;
      return &convert<D, S, F>;
    };
    if (round == "rni") return pick(Clamped<D, Round::Nearest>());
    if (round == "rzi") return pick(Clamped<D, Round::Zero>());
    if (round == "rmi") return pick(Clamped<D, Round::Down>());
    if (round == "rpi") return pick(Clamped<D, Round::Up>());
    return nullptr;
  });
}

template <class S>
Execute to_float(std::string_view round, bool ftz = false) {
  const auto pick = [&]<class F>(F) -> Execute {
    return ftz ? &convert<float, S, FlushedResult<F>> : &convert<float, S, F>;
  };
  if (round == "rn") return pick(ToFloat<Round::Nearest>());
  if (round == "rz") return pick(ToFloat<Round::Zero>());
  if (round == "rm") return pick(ToFloat<Round::Down>());
  if (round == "rp") return pick(ToFloat<Round::Up>());
  return nullptr;
}

template <class F>
Execute float_to_float(bool ftz, bool sat) {
  if (ftz)
    return sat ? &convert<float, float, Adjusted<true, true, F>> : &convert<float, float, Adjusted<true, false, F>>;
  return sat ? &convert<float, float, Adjusted<false, true, F>> : &convert<float, float, Adjusted<false, false, F>>;
}
Execute float_to_float(std::string_view round, bool ftz, bool sat) {
  if (round == "rni") return float_to_float<ToInteger<Round::Nearest>>(ftz, sat);
  if (round == "rzi") return float_to_float<ToInteger<Round::Zero>>(ftz, sat);
  if (round == "rmi") return float_to_float<ToInteger<Round::Down>>(ftz, sat);
  if (round == "rpi") return float_to_float<ToInteger<Round::Up>>(ftz, sat);
  return float_to_float<Plain<float>>(ftz, sat);
}
Execute double_to_double(std::string_view round) {
  if (round == "rni") return &convert<double, double, ToInteger<Round::Nearest>>;
  if (round == "rzi") return &convert<double, double, ToInteger<Round::Zero>>;
  if (round == "rmi") return &convert<double, double, ToInteger<Round::Down>>;
  if (round == "rpi") return &convert<double, double, ToInteger<Round::Up>>;
  return &convert<double, double, Plain<double>>;
}

Execute to_bf16_of(std::string_view to, std::string_view round, bool relu) {
  const auto pick = [&]<class F>(F) -> Execute {
    return to == "bf16" ? Execute(&convert<uint16_t, float, F>) : Execute(&pack_bf16<F>);
  };
  if (round != "rn" && round != "rz") return nullptr;
  if (round == "rz") return relu ? pick(ToBf16<true, true>()) : pick(ToBf16<true, false>());
  return relu ? pick(ToBf16<false, true>()) : pick(ToBf16<false, false>());
}

Execute conversion(std::string_view to, std::string_view from, std::string_view round, Words& words) {
  const bool to_floats = to == "f32" || to == "f64";
  if (from == "f32" && (to == "bf16" || to == "bf16x2")) return to_bf16_of(to, round, words.take("relu"));
  if (from == "f32" && to == "tf32") return round == "rna" ? &convert<uint32_t, float, ToTf32> : nullptr;
  if (from == "bf16" && to == "f32") return &convert<float, uint16_t, FromBf16>;
  if (from == "f32" && to == "f32") {
    const bool ftz = words.take("ftz");
    return float_to_float(round, ftz, words.take("sat"));
  }
  if (from == "f64" && to == "f64") return double_to_double(round);
  if (from == "f64" && to == "f32") return to_float<double>(round, words.take("ftz"));
  if (from == "f32" && to == "f64")
    return words.take("ftz") ? &convert<double, float, FlushedInput<Plain<double>>>
                             : &convert<double, float, Plain<double>>;
  if (from == "f32" || from == "f64") {
    words.take("sat");  // floats clamp in any case
    const bool ftz = words.take("ftz");
    return from == "f32" ? float_to_integer<float>(to, round, ftz) : float_to_integer<double>(to, round, false);
  }
  if (!to_floats) return integer_to_integer(to, from, words.take("sat"));
  return for_all_integers(from, [&](auto s) -> Execute {
    using S = decltype(s);
    if (to == "f32") return to_float<S>(round);
    return round == "rn" ? &convert<double, S, Plain<double>> : nullptr;
  });
}

void decode_cvt(Statement& s) {
  const std::string_view from = s.words.take_last(), to = s.words.take_last();
  const std::string_view round = s.words.take_one({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"});
  s.widths = {type_bytes(to), type_bytes(from)};
  s.least_operands += to == "bf16x2";
  s.instruction.execute = conversion(to, from, round, s.words);
}

constexpr TableEntry kTable[] = {{"cvt", &decode_cvt, 2}};

}  // namespace

std::span<const TableEntry> conversion_instructions() { return kTable; }

}  // namespace weft::cuda_device
