// SPDX-License-Identifier: Apache-2.0
// Instructions that do the same in each lane: loops over registers, and the choice of the loop by a type's name.
#pragma once

#include <type_traits>

#include "simulator/machine/warp.h"
#include "simulator/ptx/decoder.h"

namespace weft::cuda_device {

template <class T, class F>
void unary(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T* a = w.lanes<T>(i.operands[1]);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(a[l]); });
}

template <class T, class F>
void binary(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(a[l], b[l]); });
}

template <class T, class F>
void ternary(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.operands[0]);
  const T *a = w.lanes<T>(i.operands[1]), *b = w.lanes<T>(i.operands[2]), *c = w.lanes<T>(i.operands[3]);
  for_lanes(w.exec, [=](int l) { d[l] = F{}(a[l], b[l], c[l]); });
}

template <class F>
Execute for_bits(std::string_view type, F pick) {  // .b16 .b32 .b64
  if (type == "b16") return pick(uint16_t{});
  if (type == "b32") return pick(uint32_t{});
  if (type == "b64") return pick(uint64_t{});
  return nullptr;
}

template <class F>
Execute for_integers(std::string_view type, F pick) {
  if (type == "u16") return pick(uint16_t{});
  if (type == "s16") return pick(int16_t{});
  if (type == "u32") return pick(uint32_t{});
  if (type == "s32") return pick(int32_t{});
  if (type == "u64") return pick(uint64_t{});
  if (type == "s64") return pick(int64_t{});
  return nullptr;
}

// Integers as unsigned integers, if the bits are the same: overflow wraps without undefined behaviour.
template <class F>
Execute for_wrapping_integers(std::string_view type, F pick) {
  return for_integers(type, [&](auto t) -> Execute { return pick(std::make_unsigned_t<decltype(t)>{}); });
}

template <class F>
Execute for_floats(std::string_view type, F pick) {
  if (type == "f32") return pick(float{});
  if (type == "f64") return pick(double{});
  return nullptr;
}

}  // namespace weft::cuda_device
