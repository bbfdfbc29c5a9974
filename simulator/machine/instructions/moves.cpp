// SPDX-License-Identifier: Apache-2.0
// mov, with the packing and unpacking of vectors, and cvta between generic addresses and those of one memory.
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

struct Same {
  template <class T>
  T operator()(T v) const {
    return v;
  }
};

void move_predicate(Warp& w, const Instruction& i) { w.set_predicate(i.operands[0], w.predicate(i.operands[1])); }

// `whole` holds the parts in order, the first one in the lowest bits.
template <class T>
void pack(Warp& w, const Instruction& i) {
  const Operand& whole = i.operands[0];
  const auto parts = i.operands.subspan(1);
  for (size_t k = 0; k < parts.size(); ++k) {
    T* to = w.lanes<T>(whole) + k;
    const T* from = w.lanes<T>(parts[k]);
    const size_t step = parts.size();
    for_lanes(w.exec, [=](int l) { to[size_t(l) * step] = from[l]; });
  }
}
template <class T>
void unpack(Warp& w, const Instruction& i) {
  const Operand& whole = i.operands.back();
  const auto parts = i.operands.first(i.operands.size() - 1);
  T values[kLanes * 8];
  std::memcpy(values, w.lanes<T>(whole), whole.width * kLanes);  //  a part may share the register of the whole
  for (size_t k = 0; k < parts.size(); ++k) {
    T* to = w.lanes<T>(parts[k]);
    const size_t step = parts.size();
    for_lanes(w.exec, [&](int l) { to[l] = values[size_t(l) * step + k]; });
  }
}

template <bool kPack>
Execute vector_move(int bytes, int parts, int all) {
  if (bytes * parts != all) return nullptr;
  if (bytes == 2) return kPack ? &pack<uint16_t> : &unpack<uint16_t>;
  if (bytes == 4) return kPack ? &pack<uint32_t> : &unpack<uint32_t>;
  return nullptr;
}

void decode_mov(Statement& s) {
  const std::string_view type = s.words.take_last();
  const int n = type_bytes(type);
  s.widths = {n};
  const auto parts = [](std::string_view text) {
    return text.starts_with('{') ? int(split(text.substr(1, text.size() - 2), ',').size()) : 0;
  };
  if (const int k = parts(s.operands.at(1))) {
    s.widths = {n, n / k};
    s.instruction.execute = vector_move<true>(n / k, k, n);
  } else if (const int k = parts(s.operands.at(0))) {
    s.instruction.results = uint8_t(k);
    s.widths.assign(size_t(k), n / k);
    s.widths.push_back(n);
    s.instruction.execute = vector_move<false>(n / k, k, n);
  } else if (type == "pred") {
    s.instruction.execute = &move_predicate;
  } else {
    s.instruction.execute = n == 2   ? &unary<uint16_t, Same>
                            : n == 4 ? &unary<uint32_t, Same>
                            : n == 8 ? Execute(&unary<uint64_t, Same>)
                                     : nullptr;
  }
}

uint64_t base_of(Space space) {
  return space == Space::Shared ? kSharedWindow : space == Space::Local ? kLocalWindow : 0;
}

template <class T>
void to_generic(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  const auto base = T(base_of(i.space)), offset = T(int64_t{i.operands[1].offset});
  for_lanes(w.exec, [=](int l) { d[l] = a[l] + offset + base; });
}
template <class T>
void from_generic(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  const auto base = T(base_of(i.space));
  for_lanes(w.exec, [=](int l) { d[l] = a[l] - base; });
}

void decode_cvta(Statement& s) {
  const bool to = s.words.take("to");
  const std::string_view space = s.words.take_one({"global", "shared", "shared::cta", "local", "const", "param"});
  s.instruction.space = space.starts_with("shared") ? Space::Shared : space == "local" ? Space::Local : Space::Global;
  const int n = type_bytes(s.words.take_last());
  s.widths = {n};
  if (space == "param") return;  // the address of a kernel's parameter is not known here
  if (n == 8) s.instruction.execute = to ? &from_generic<uint64_t> : &to_generic<uint64_t>;
}

constexpr TableEntry kTable[] = {{"mov", &decode_mov, 2}, {"cvta", &decode_cvta, 2}};

}  // namespace

std::span<const TableEntry> move_instructions() { return kTable; }

}  // namespace weft::cuda_device
