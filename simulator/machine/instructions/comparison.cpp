// SPDX-License-Identifier: Apache-2.0
// Comparisons, and selections by comparisons.
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// Ordered comparisons are false if an operand is NaN, unordered ones (with a U) are true.
struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct Ne {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return (a < b) | (a > b);
    return a != b;
  }
};
struct Num {
  template <class T>
  bool operator()(T a, T b) const {
    return (a == a) & (b == b);
  }
};
template <class F>
struct NotOf {
  template <class T>
  bool operator()(T a, T b) const {
    return !F{}(a, b);
  }
};
template <class F>
struct Flushed {
  bool operator()(float a, float b) const { return F{}(flush(a), flush(b)); }
};
template <class F>
struct OfBf16 {
  bool operator()(uint16_t a, uint16_t b) const { return F{}(from_bf16(a), from_bf16(b)); }
};

enum Join { kPlain, kAnd, kOr, kXor };
constexpr int kTwoResults = 4;  // a bit of `mode`: p|q

template <class T, class F>
uint32_t truth_of(const Warp& w, const Operand& first, const Operand& second) {
  const T *a = w.lanes<T>(first), *b = w.lanes<T>(second);
  uint32_t truth = 0;
  for (int l = 0; l < kLanes; ++l) truth |= uint32_t(F{}(a[l], b[l])) << l;
  return truth;
}

uint32_t join(int how, uint32_t truth, uint32_t other) {
  return how == kAnd ? truth & other : how == kOr ? truth | other : truth ^ other;
}

template <class T, class F>
void compare(Warp& w, const Instruction& i) {  // setp p, a, b (, c); setp p|q, a, b (, c): q has the opposite truth
  const bool two = i.mode & kTwoResults;
  const int how = i.mode & 3;
  const size_t a = two ? 2 : 1;
  uint32_t truth = truth_of<T, F>(w, i.operands[a], i.operands[a + 1]), opposite = ~truth;
  if (how != kPlain) {
    const uint32_t c = w.predicate(i.operands[a + 2]);
    truth = join(how, truth, c);
    opposite = join(how, opposite, c);
  }
  w.set_predicate(i.operands[0], truth);
  if (two) w.set_predicate(i.operands[1], opposite);
}

template <class T, class F, bool kFloat>
void compare_to_word(Warp& w, const Instruction& i) {  // set d, a, b: 1.0f, or all bits
  const uint32_t truth = truth_of<T, F>(w, i.operands[1], i.operands[2]);
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  constexpr uint32_t kTrue = kFloat ? 0x3f800000u : ~0u;
  for_lanes(w.exec, [=](int l) { d[l] = truth >> l & 1 ? kTrue : 0u; });
}

template <class T>
void select(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]);
  const uint32_t truth = w.predicate(i.operands[3]);
  for_lanes(w.exec, [=](int l) { d[l] = truth >> l & 1 ? a[l] : b[l]; });
}

template <class T, class C>
void select_by_sign(Warp& w, const Instruction& i) {  // slct
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]);
  const C* c = w.lanes<C>(i.operands[3]);
  for_lanes(w.exec, [=](int l) { d[l] = c[l] >= C(0) ? a[l] : b[l]; });
}

// The loop over lanes for a comparison and a type.
struct ToPredicate {
  template <class T, class F>
  static constexpr Execute loop = &compare<T, F>;
};
template <bool kFloat>
struct ToWord {
  template <class T, class F>
  static constexpr Execute loop = &compare_to_word<T, F, kFloat>;
};

template <class To, class F>
Execute comparison_of(std::string_view type, bool ftz) {
  if (type == "f32") return ftz ? To::template loop<float, Flushed<F>> : To::template loop<float, F>;
  if (type == "f64") return To::template loop<double, F>;
  if (type == "bf16") return To::template loop<uint16_t, OfBf16<F>>;
  if (type[0] == 'b') return for_bits(type, [](auto t) { return To::template loop<decltype(t), F>; });
  return for_integers(type, [](auto t) { return To::template loop<decltype(t), F>; });
}

template <class To>
Execute comparison(std::string_view name, std::string_view type, bool ftz) {
  if (name == "eq") return comparison_of<To, Eq>(type, ftz);
  if (name == "ne") return comparison_of<To, Ne>(type, ftz);
  if (name == "lt" || name == "lo") return comparison_of<To, Lt>(type, ftz);
  if (name == "le" || name == "ls") return comparison_of<To, Le>(type, ftz);
  if (name == "gt" || name == "hi") return comparison_of<To, Gt>(type, ftz);
  if (name == "ge" || name == "hs") return comparison_of<To, Ge>(type, ftz);
  const bool is_float = type[0] == 'f' || type == "bf16";
  if (!is_float) return nullptr;
  if (name == "equ") return comparison_of<To, NotOf<Ne>>(type, ftz);
  if (name == "neu") return comparison_of<To, NotOf<Eq>>(type, ftz);
  if (name == "ltu") return comparison_of<To, NotOf<Ge>>(type, ftz);
  if (name == "leu") return comparison_of<To, NotOf<Gt>>(type, ftz);
  if (name == "gtu") return comparison_of<To, NotOf<Le>>(type, ftz);
  if (name == "geu") return comparison_of<To, NotOf<Lt>>(type, ftz);
  if (name == "num") return comparison_of<To, Num>(type, ftz);
  if (name == "nan") return comparison_of<To, NotOf<Num>>(type, ftz);
  return nullptr;
}

std::string_view take_comparison(Words& words) {
  return words.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
                         "geu", "num", "nan"});
}

void decode_setp(Statement& s) {
  const std::string_view name = take_comparison(s.words), type = s.words.take_last();
  const std::string_view how = s.words.take_one({"and", "or", "xor"});
  s.instruction.mode = how == "and" ? kAnd : how == "or" ? kOr : how == "xor" ? kXor : kPlain;
  s.least_operands += s.instruction.mode != kPlain;
  const bool two = s.operands.at(0).find('|') != std::string_view::npos;
  const int n = type_bytes(type);
  s.widths = {Operand::kPredicate, n, n, Operand::kPredicate};
  if (two) {
    s.instruction.mode |= kTwoResults;
    s.instruction.results = 2;
    ++s.least_operands;
    s.widths.insert(s.widths.begin(), Operand::kPredicate);
  }
  s.instruction.execute = comparison<ToPredicate>(name, type, s.words.take("ftz"));
}

void decode_set(Statement& s) {
  const std::string_view name = take_comparison(s.words), type = s.words.take_last(), to = s.words.take_last();
  const bool ftz = s.words.take("ftz");
  s.widths = {4, type_bytes(type)};
  if (to == "f32") s.instruction.execute = comparison<ToWord<true>>(name, type, ftz);
  if (to == "u32" || to == "s32") s.instruction.execute = comparison<ToWord<false>>(name, type, ftz);
}

void decode_selp(Statement& s) {
  const int n = type_bytes(s.words.take_last());
  s.widths = {n, n, n, Operand::kPredicate};
  s.instruction.execute = n == 2   ? &select<uint16_t>
                          : n == 4 ? &select<uint32_t>
                          : n == 8 ? Execute(&select<uint64_t>)
                                   : nullptr;
}

void decode_slct(Statement& s) {
  const std::string_view by = s.words.take_last();
  const int n = type_bytes(s.words.take_last());
  s.widths = {n, n, n, 4};
  if (by == "s32")
    s.instruction.execute = n == 4   ? &select_by_sign<uint32_t, int32_t>
                            : n == 8 ? &select_by_sign<uint64_t, int32_t>
                                     : nullptr;
  if (by == "f32")
    s.instruction.execute = n == 4   ? &select_by_sign<uint32_t, float>
                            : n == 8 ? &select_by_sign<uint64_t, float>
                                     : nullptr;
}

constexpr TableEntry kTable[] = {
    {"setp", &decode_setp, 3}, {"set", &decode_set, 3}, {"selp", &decode_selp, 4}, {"slct", &decode_slct, 4}};

}  // namespace

std::span<const TableEntry> comparison_instructions() { return kTable; }

}  // namespace weft::cuda_device
