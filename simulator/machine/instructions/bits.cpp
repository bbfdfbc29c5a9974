// SPDX-License-Identifier: Apache-2.0
// Logic, shifts, and the counting and moving of bits.
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/values.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

struct Not {
  template <class T>
  T operator()(T a) const {
    return T(~a);
  }
};
struct IsZero {  // cnot
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct ShiftLeft {
  template <class T>
  T operator()(T a, uint32_t n) const {
    return n < 8 * sizeof(T) ? T(a << n) : T(0);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, uint32_t n) const {
    constexpr uint32_t kTop = 8 * sizeof(T) - 1;
    if (n <= kTop) return T(a >> n);
    return std::is_signed_v<T> ? T(a >> kTop) : T(0);
  }
};
struct Reverse {
  template <class T>
  T operator()(T a) const {
    T r = 0;
    for (size_t k = 0; k < 8 * sizeof(T); ++k) r |= (a >> k & 1) << (8 * sizeof(T) - 1 - k);
    return r;
  }
};

// ---- one result of 32 bits

struct CountOnes {
  template <class T>
  uint32_t operator()(T a) const {
    return uint32_t(std::popcount(a));
  }
};
struct LeadingZeros {
  template <class T>
  uint32_t operator()(T a) const {
    return uint32_t(std::countl_zero(a));
  }
};
template <bool kShiftAmount>
struct FindTopBit {  //  bfind: for negative numbers the top zero
  template <class T>
  uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    const U bits = std::is_signed_v<T> && a < 0 ? U(~U(a)) : U(a);
    if (bits == 0) return ~0u;
    const auto zeros = uint32_t(std::countl_zero(bits));
    return kShiftAmount ? zeros : uint32_t(8 * sizeof(T) - 1) - zeros;
  }
};

template <class T, class F>
void to_word(Warp& w, const Instruction& i) {
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(a[l]); });
}
template <class T, class F>
void shift(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  const auto* n = w.lanes<uint32_t>(i.operands[2]);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(a[l], n[l]); });
}
template <class F>
void predicates(Warp& w, const Instruction& i) {
  w.set_predicate(i.operands[0], F{}(w.predicate(i.operands[1]), w.predicate(i.operands[2])));
}
void not_predicate(Warp& w, const Instruction& i) { w.set_predicate(i.operands[0], ~w.predicate(i.operands[1])); }

// lop3: bit k of the table is the result if the bits of a, b, c form the number k.
void three_input_logic(Warp& w, const Instruction& i) {
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const auto *a = w.lanes<uint32_t>(i.operands[1]), *b = w.lanes<uint32_t>(i.operands[2]);
  const auto *c = w.lanes<uint32_t>(i.operands[3]), *table = w.lanes<uint32_t>(i.operands[4]);
  const uint32_t t = table[w.first_lane()];
  for_lanes(w.exec, [=](int l) {
    uint32_t r = 0;
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t same = (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
      r |= same & (0u - (t >> k & 1));
    }
    d[l] = r;
  });
}

// prmt: four of eight bytes, each selected by a digit of the selector; the digit's top bit repeats the byte's sign.
void permute_bytes(Warp& w, const Instruction& i) {
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const auto *a = w.lanes<uint32_t>(i.operands[1]), *b = w.lanes<uint32_t>(i.operands[2]);
  const auto* select = w.lanes<uint32_t>(i.operands[3]);
  for_lanes(w.exec, [=](int l) {
    const uint64_t bytes = uint64_t{b[l]} << 32 | a[l];
    uint32_t r = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t digit = select[l] >> (4 * k) & 15;
      const auto byte = uint32_t(bytes >> (8 * (digit & 7)) & 255);
      r |= (digit & 8 ? (0u - (byte >> 7)) & 255 : byte) << (8 * k);
    }
    d[l] = r;
  });
}

// shf: 32 of the 64 bits of b and a. mode: 1 clamps the amount at 32, 0 takes its last five bits.
template <bool kLeft>
void funnel_shift(Warp& w, const Instruction& i) {
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const auto *a = w.lanes<uint32_t>(i.operands[1]), *b = w.lanes<uint32_t>(i.operands[2]);
  const auto* amount = w.lanes<uint32_t>(i.operands[3]);
  const bool clamp = i.mode != 0;
  for_lanes(w.exec, [=](int l) {
    const uint64_t v = uint64_t{b[l]} << 32 | a[l];
    const uint32_t n = clamp ? (amount[l] < 32 ? amount[l] : 32) : amount[l] & 31;
    d[l] = kLeft ? uint32_t(v << n >> 32) : uint32_t(v >> n);
  });
}

template <class T>
void extract_field(Warp& w, const Instruction& i) {  // bfe d, a, position, length
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  T* d = w.lanes<T>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  const auto *position = w.lanes<uint32_t>(i.operands[2]), *length = w.lanes<uint32_t>(i.operands[3]);
  for_each_lane(w.exec, [&](int l) {
    const uint32_t p = position[l] & 255, n = length[l] & 255;
    const uint32_t last = p + n == 0 ? 0 : std::min(p + n - 1, kBits - 1);
    const bool fill = std::is_signed_v<T> && n != 0 && (U(a[l]) >> last & 1);
    U r = fill ? ~U(0) : U(0);
    for (uint32_t k = 0; k < n && k < kBits; ++k)
      if (p + k < kBits) r = (r & ~(U(1) << k)) | ((U(a[l]) >> (p + k) & 1) << k);
    d[l] = T(r);
  });
}

template <class T>
void insert_field(Warp& w, const Instruction& i) {  // bfi d, a into b, position, length
  constexpr uint32_t kBits = 8 * sizeof(T);
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]);
  const auto *position = w.lanes<uint32_t>(i.operands[3]), *length = w.lanes<uint32_t>(i.operands[4]);
  for_lanes(w.exec, [=](int l) {
    const uint32_t p = position[l] & 255, n = length[l] & 255;
    const T ones = n >= kBits ? T(~T(0)) : T((T(1) << n) - 1);
    const T mask = p >= kBits ? T(0) : T(ones << p);
    d[l] = p >= kBits ? b[l] : T((T(a[l] << p) & mask) | (b[l] & ~mask));
  });
}

// ---- functions for the words of an opcode

template <class F>
void decode_logic(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.instruction.execute = type == "pred" ? Execute(&predicates<F>)
                                         : for_bits(type, [](auto t) -> Execute { return &binary<decltype(t), F>; });
}
template <class F>
void decode_unary(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {type_bytes(type)};
  s.instruction.execute = std::is_same_v<F, Not> && type == "pred"
                              ? Execute(&not_predicate)
                              : for_bits(type, [](auto t) -> Execute { return &unary<decltype(t), F>; });
}
template <class F>
void decode_count(Statement& s) {
  const std::string_view type = s.words.take_last();
  s.widths = {4, type_bytes(type)};
  s.instruction.execute = for_bits(type, [](auto t) -> Execute { return &to_word<decltype(t), F>; });
}
void decode_bfind(Statement& s) {
  const std::string_view type = s.words.take_last();
  const bool amount = s.words.take("shiftamt");
  s.widths = {4, type_bytes(type)};
  s.instruction.execute = for_integers(type, [&](auto t) -> Execute {
    using T = decltype(t);
    if constexpr (sizeof(T) == 2) return nullptr;
    return amount ? Execute(&to_word<T, FindTopBit<true>>) : Execute(&to_word<T, FindTopBit<false>>);
  });
}
template <class F>
void decode_shift(Statement& s) {
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n, n, 4};
  const auto pick = [](auto t) -> Execute { return &shift<decltype(t), F>; };
  s.instruction.execute = type[0] == 'b' ? for_bits(type, pick) : for_integers(type, pick);
}
void decode_funnel(Statement& s) {
  const std::string_view type = s.words.take_last(), side = s.words.take_one({"l", "r"});
  s.instruction.mode = s.words.take("clamp");
  s.words.take("wrap");
  if (type == "b32") s.instruction.execute = side == "l" ? &funnel_shift<true> : &funnel_shift<false>;
}
void decode_lop3(Statement& s) {
  if (s.words.take_last() == "b32") s.instruction.execute = &three_input_logic;
}
void decode_prmt(Statement& s) {
  if (s.words.take_last() == "b32") s.instruction.execute = &permute_bytes;
}
void decode_bfe(Statement& s) {
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n, n, 4};
  s.instruction.execute = for_integers(type, [](auto t) -> Execute {
    if constexpr (sizeof(t) == 2) return nullptr;
    return &extract_field<decltype(t)>;
  });
}
void decode_bfi(Statement& s) {
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n, n, n, 4};
  s.instruction.execute = for_bits(type, [](auto t) -> Execute {
    if constexpr (sizeof(t) == 2) return nullptr;
    return &insert_field<decltype(t)>;
  });
}

constexpr TableEntry kTable[] = {
    {"and", &decode_logic<And>, 3},
    {"or", &decode_logic<Or>, 3},
    {"xor", &decode_logic<Xor>, 3},
    {"not", &decode_unary<Not>, 2},
    {"cnot", &decode_unary<IsZero>, 2},
    {"brev", &decode_unary<Reverse>, 2},
    {"popc", &decode_count<CountOnes>, 2},
    {"clz", &decode_count<LeadingZeros>, 2},
    {"bfind", &decode_bfind, 2},
    {"shl", &decode_shift<ShiftLeft>, 3},
    {"shr", &decode_shift<ShiftRight>, 3},
    {"shf", &decode_funnel, 4},
    {"lop3", &decode_lop3, 5},
    {"prmt", &decode_prmt, 4},
    {"bfe", &decode_bfe, 4},
    {"bfi", &decode_bfi, 5},
};

}  // namespace

std::span<const TableEntry> bit_instructions() { return kTable; }

}  // namespace weft::cuda_device
