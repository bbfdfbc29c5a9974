// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers, fp32, fp64 and bf16. fp32 and fp64 round as the manual says; bf16 is computed in fp32, where
// sums and products of two bf16 are exact enough that rounding twice gives the same, and fma in fp64.
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/machine/instructions/values.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// ---- fp32 with modifiers

template <class F, Round kRound>
struct Rounded {
  template <class... T>
  float operator()(T... v) const {
    return F::template rounded<kRound>(v...);
  }
};
template <class F, bool kFlush, bool kSaturate>
struct Modified {
  template <class... T>
  float operator()(T... v) const {
    float r = kFlush ? F{}(flush(v)...) : F{}(v...);
    if (kFlush) r = flush(r);
    return kSaturate ? saturate(r) : r;
  }
};

template <class F, bool kFlush, bool kSaturate, int kArguments>
Execute loop_of() {
  using G = Modified<F, kFlush, kSaturate>;
  if constexpr (kArguments == 1) return &unary<float, G>;
  if constexpr (kArguments == 2) return &binary<float, G>;
  if constexpr (kArguments == 3) return &ternary<float, G>;
}
template <class F, int kArguments>
Execute modified(Words& words) {
  const bool ftz = words.take("ftz"), sat = words.take("sat");
  if (ftz) return sat ? loop_of<F, true, true, kArguments>() : loop_of<F, true, false, kArguments>();
  return sat ? loop_of<F, false, true, kArguments>() : loop_of<F, false, false, kArguments>();
}
template <class F, int kArguments>
Execute rounded(Words& words) {
  const std::string_view round = words.take_one({"rn", "rz", "rm", "rp"}, "rn");
  if (round == "rz") return modified<Rounded<F, Round::Zero>, kArguments>(words);
  if (round == "rm") return modified<Rounded<F, Round::Down>, kArguments>(words);
  if (round == "rp") return modified<Rounded<F, Round::Up>, kArguments>(words);
  return modified<F, kArguments>(words);
}

// ---- bf16 and pairs of it

template <class F>
struct Bf16 {
  template <class... T>
  uint16_t operator()(T... v) const {
    return to_bf16(F{}(from_bf16(v)...));
  }
};
struct Bf16Fma {
  uint16_t operator()(uint16_t a, uint16_t b, uint16_t c) const {
    const double exact = double(from_bf16(a)) * double(from_bf16(b)), sum = exact + double(from_bf16(c));
    return to_bf16(to_odd(sum, error_of_sum(exact, from_bf16(c), sum)));
  }
  // Rounds to fp32, setting the last bit if bits were lost: the rounding to bf16 that follows then sees them.
  static float to_odd(double high, double low) {
    const float down = round_exact<Round::Zero>(high, low);
    const bool exact = double(down) == high && low == 0.0;
    return exact || !(down == down) ? down : std::bit_cast<float>(std::bit_cast<uint32_t>(down) | 1u);
  }
};
template <class F>
struct Both {  // halves of 32 bits
  template <class... T>
  uint32_t operator()(T... v) const {
    return uint32_t{F{}(uint16_t(v >> 16)...)} << 16 | F{}(uint16_t(v)...);
  }
};
struct Bf16Neg {
  uint16_t operator()(uint16_t a) const { return uint16_t(a ^ 0x8000u); }
};
struct Bf16Abs {
  uint16_t operator()(uint16_t a) const { return uint16_t(a & 0x7fffu); }
};

bool is_bf16(std::string_view type) { return type == "bf16" || type == "bf16x2"; }
template <class F>
Execute bf16_unary(std::string_view type) {
  return type == "bf16" ? Execute(&unary<uint16_t, F>) : Execute(&unary<uint32_t, Both<F>>);
}
template <class F>
Execute bf16_binary(std::string_view type) {
  return type == "bf16" ? Execute(&binary<uint16_t, F>) : Execute(&binary<uint32_t, Both<F>>);
}

// ---- products of twice the operands' width

template <class T>
using Twice = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <class T, bool kAdd>
void wide_product(Warp& w, const Instruction& i) {
  using W = Twice<T>;
  using U = std::make_unsigned_t<W>;
  U* d = w.lanes<U>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]);
  const U* c = kAdd ? w.lanes<U>(i.operands[3]) : nullptr;
  for_lanes(w.exec, [=](int l) { d[l] = U(W(a[l]) * W(b[l])) + (kAdd ? c[l] : U(0)); });
}

template <bool kAdd>
Execute wide_product_of(std::string_view type) {
  if (type == "u16") return &wide_product<uint16_t, kAdd>;
  if (type == "s16") return &wide_product<int16_t, kAdd>;
  if (type == "u32") return &wide_product<uint32_t, kAdd>;
  if (type == "s32") return &wide_product<int32_t, kAdd>;
  return nullptr;
}

// ---- products and sums that are rounded once

template <class T, bool kFlush>
void fused(Warp& w, const Instruction& i) {
  using F = std::conditional_t<std::is_same_v<T, float>, Modified<Fma, kFlush, false>, Fma>;
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]), *c = w.lanes<T>(i.operands[3]);
  const T of_product = i.mode == int32_t(FusedSigns::Product) ? T(-1) : T(1);
  const T of_addend = i.mode == int32_t(FusedSigns::Addend) ? T(-1) : T(1);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(of_product * a[l], b[l], of_addend * c[l]); });
}

// A rounding that is named is kept, also .rn, and so is that of a saturated result.
template <class F>
Contractible contractible(const Words& words, std::string_view type) {
  for (const char* kept : {"rn", "rz", "rm", "rp", "sat"})
    if (words.has(kept)) return {};
  constexpr auto kRole = std::is_same_v<F, Mul>   ? Contractible::Role::Product
                         : std::is_same_v<F, Add> ? Contractible::Role::Sum
                                                  : Contractible::Role::Difference;
  if (type == "f32") return {kRole, words.has("ftz") ? &fused<float, true> : &fused<float, false>};
  if (type == "f64") return {kRole, &fused<double, false>};
  return {};
}

// ---- functions for the words of an opcode

template <class F>
void decode_binary(Statement& s) {  // add, sub, mul of floats; add, sub of integers
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.contractible = contractible<F>(s.words, type);
  if (type == "f32") {
    s.instruction.execute = rounded<F, 2>(s.words);
  } else if (type == "f64") {
    s.words.take("rn");
    s.instruction.execute = &binary<double, F>;
  } else if (is_bf16(type)) {
    s.words.take("rn");
    s.instruction.execute = bf16_binary<Bf16<F>>(type);
  } else {
    s.instruction.execute = for_wrapping_integers(type, [](auto t) -> Execute { return &binary<decltype(t), F>; });
  }
}

void decode_mul(Statement& s) {
  const std::string_view half = s.words.take_one({"lo", "hi", "wide"});
  if (half.empty()) return decode_binary<Mul>(s);
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n};
  if (half == "wide") {
    s.widths = {2 * n, n, n};
    s.instruction.execute = wide_product_of<false>(type);
  } else if (half == "lo") {
    s.instruction.execute = for_wrapping_integers(type, [](auto t) -> Execute { return &binary<decltype(t), Mul>; });
  } else {
    s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &binary<decltype(t), MulHigh>; });
  }
}

struct MulHighAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    using U = std::make_unsigned_t<T>;
    return T(U(MulHigh{}(a, b)) + U(c));
  }
};

void decode_mad(Statement& s) {
  const std::string_view half = s.words.take_one({"lo", "hi", "wide"});
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n};
  if (half == "wide") {
    s.widths = {2 * n, n, n, 2 * n};
    s.instruction.execute = wide_product_of<true>(type);
  } else if (half == "lo") {
    s.instruction.execute =
        for_wrapping_integers(type, [](auto t) -> Execute { return &ternary<decltype(t), MulAdd>; });
  } else if (half == "hi") {
    s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &ternary<decltype(t), MulHighAdd>; });
  }
}

void decode_fma(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  if (type == "f32") {
    s.instruction.execute = rounded<Fma, 3>(s.words);
    return;
  }
  s.words.take("rn");
  if (type == "f64") s.instruction.execute = &ternary<double, Fma>;
  if (type == "bf16") s.instruction.execute = &ternary<uint16_t, Bf16Fma>;
  if (type == "bf16x2") s.instruction.execute = &ternary<uint32_t, Both<Bf16Fma>>;
}

void decode_div(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.words.take_one({"rn", "approx", "full"});  // the approximate forms are exact here
  if (type == "f32")
    s.instruction.execute = modified<Div, 2>(s.words);
  else if (type == "f64")
    s.instruction.execute = &binary<double, Div>;
  else
    s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &binary<decltype(t), Div>; });
}

template <class F>
void decode_extreme(Statement& s) {  // min, max
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  if (type == "f32")
    s.instruction.execute = s.words.take("NaN") ? modified<OrNaN<F>, 2>(s.words) : modified<F, 2>(s.words);
  else if (type == "f64")
    s.instruction.execute = &binary<double, F>;
  else if (is_bf16(type))
    s.instruction.execute = s.words.take("NaN") ? bf16_binary<Bf16<OrNaN<F>>>(type) : bf16_binary<Bf16<F>>(type);
  else
    s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &binary<decltype(t), F>; });
}

template <class F, class OfBf16>
void decode_sign(Statement& s) {  // neg, abs
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  if (type == "f32")
    s.instruction.execute = modified<F, 1>(s.words);
  else if (type == "f64")
    s.instruction.execute = &unary<double, F>;
  else if (is_bf16(type))
    s.instruction.execute = bf16_unary<OfBf16>(type);
  else if constexpr (std::is_same_v<F, Neg>)
    s.instruction.execute = for_wrapping_integers(type, [](auto t) -> Execute { return &unary<decltype(t), F>; });
  else
    s.instruction.execute = type == "s16"   ? Execute(&unary<int16_t, F>)
                            : type == "s32" ? Execute(&unary<int32_t, F>)
                            : type == "s64" ? Execute(&unary<int64_t, F>)
                                            : nullptr;
}

void decode_rem(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &binary<decltype(t), Rem>; });
}

void decode_sad(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.instruction.execute = for_integers(type, [](auto t) -> Execute { return &ternary<decltype(t), Difference>; });
}

void decode_copysign(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.instruction.execute = for_floats(type, [](auto t) -> Execute { return &binary<decltype(t), CopySign>; });
}

constexpr TableEntry kTable[] = {
    {"add", &decode_binary<Add>, 3},
    {"sub", &decode_binary<Sub>, 3},
    {"mul", &decode_mul, 3},
    {"mad", &decode_mad, 4},
    {"fma", &decode_fma, 4},
    {"div", &decode_div, 3},
    {"rem", &decode_rem, 3},
    {"min", &decode_extreme<Min>, 3},
    {"max", &decode_extreme<Max>, 3},
    {"neg", &decode_sign<Neg, Bf16Neg>, 2},
    {"abs", &decode_sign<Abs, Bf16Abs>, 2},
    {"copysign", &decode_copysign, 3},
    {"sad", &decode_sad, 4},
};

}  // namespace

std::span<const TableEntry> arithmetic_instructions() { return kTable; }

}  // namespace weft::cuda_device
