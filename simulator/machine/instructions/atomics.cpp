// SPDX-License-Identifier: Apache-2.0
// atom and red, and the fences that make them publish earlier work (releases.h). Lanes run one after the other,
// from the lowest on; a device may use another order, so nothing may depend on it.
#include "simulator/machine/access.h"
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/values.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// The bits of `mode`.
constexpr int kReturns = 1;   // atom: operand 0 is the old value
constexpr int kReleases = 2;  // .release, .acq_rel

struct Exchange {
  template <class T>
  T operator()(T, T v) const {
    return v;
  }
};
struct Increment {
  uint32_t operator()(uint32_t old, uint32_t top) const { return old >= top ? 0 : old + 1; }
};
struct Decrement {
  uint32_t operator()(uint32_t old, uint32_t top) const { return old == 0 || old > top ? top : old - 1; }
};

void synchronise(Warp& w, const Instruction& i, int lane, uint64_t address) {
  Block& b = *w.block;
  if (i.mode & kReturns) {
    b.releases->acquire(address, &b.acquired);
    b.global.acquired_all = blocks_of(b.acquired) >= b.blocks_before;
  }
  if (!(i.mode & kReleases) && !(w.fenced >> lane & 1)) return;
  const Release release{{b.global.block, b.global.run + 1}, w.thread(lane), w.moment};
  b.releases->publish(address, release);
}

template <class T, class F>
void atomic(Warp& w, const Instruction& i) {
  const size_t first = i.mode & kReturns ? 1 : 0;
  const Operand& value = i.operands[first + 1];
  const Addresses addresses = addresses_of(w, i.operands[first]);
  const Reached r = reach(w, i, addresses, {.space = i.space, .bytes = sizeof(T), .kind = Touch::Atomic});
  for_each_lane(r.good, [&](int l) {
    T old;
    std::memcpy(&old, r.at[size_t(l)], sizeof(T));
    const T now = F{}(old, w.lanes<T>(value)[l]);
    std::memcpy(r.at[size_t(l)], &now, sizeof(T));
    if (first) w.lanes<T>(i.operands[0])[l] = old;
    synchronise(w, i, l, addresses[size_t(l)]);
  });
}

template <class T>
void compare_and_swap(Warp& w, const Instruction& i) {
  const Addresses addresses = addresses_of(w, i.operands[1]);
  const Reached r = reach(w, i, addresses, {.space = i.space, .bytes = sizeof(T), .kind = Touch::Atomic});
  for_each_lane(r.good, [&](int l) {
    T old;
    std::memcpy(&old, r.at[size_t(l)], sizeof(T));
    if (old == w.lanes<T>(i.operands[2])[l]) std::memcpy(r.at[size_t(l)], w.lanes<T>(i.operands[3]) + l, sizeof(T));
    w.lanes<T>(i.operands[0])[l] = old;
    synchronise(w, i, l, addresses[size_t(l)]);
  });
}

template <class F>
Execute for_words(std::string_view type, F pick) {  //  words of 32 and 64 bits
  return for_integers(type, [&](auto t) -> Execute {
    if constexpr (sizeof(t) == 2) return nullptr;
    return pick(t);
  });
}
template <class F>
Execute bitwise(std::string_view type) {
  if (type == "b32") return &atomic<uint32_t, F>;
  return type == "b64" ? &atomic<uint64_t, F> : nullptr;
}

Execute atomic_of(std::string_view name, std::string_view type) {
  if (name == "add" && (type == "f32" || type == "f64"))
    return type == "f32" ? &atomic<float, Add> : Execute(&atomic<double, Add>);
  if (name == "add") return for_words(type, [](auto t) { return &atomic<std::make_unsigned_t<decltype(t)>, Add>; });
  if (name == "min") return for_words(type, [](auto t) { return &atomic<decltype(t), Min>; });
  if (name == "max") return for_words(type, [](auto t) { return &atomic<decltype(t), Max>; });
  if (name == "and") return bitwise<And>(type);
  if (name == "or") return bitwise<Or>(type);
  if (name == "xor") return bitwise<Xor>(type);
  if (name == "exch") return bitwise<Exchange>(type);
  if (name == "inc" && type == "u32") return &atomic<uint32_t, Increment>;
  if (name == "dec" && type == "u32") return &atomic<uint32_t, Decrement>;
  if (name == "cas" && type == "b32") return &compare_and_swap<uint32_t>;
  if (name == "cas" && type == "b64") return &compare_and_swap<uint64_t>;
  return nullptr;
}

void decode_atomic(Statement& s) {
  Instruction& i = s.instruction;
  const std::string_view type = s.words.take_last();
  const std::string_view space = s.words.take_one({"global", "shared", "shared::cta"});
  i.space = space == "global" ? Space::Global : space.empty() ? Space::Generic : Space::Shared;
  const std::string_view order = s.words.take_one({"relaxed", "acquire", "release", "acq_rel"});
  s.words.take_one({"cta", "gpu", "sys"});
  const bool returns = s.words.name() == "atom";
  i.mode = (returns ? kReturns : 0) | (order == "release" || order == "acq_rel" ? kReleases : 0);
  i.results = returns ? 1 : 0;
  i.bytes = uint8_t(type_bytes(type));
  s.widths = {i.bytes};
  i.execute = atomic_of(s.words.take_one({"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"}), type);
}

void fence(Warp& w, const Instruction&) { w.fenced |= w.exec; }
void do_nothing(Warp&, const Instruction&) {}

void decode_fence(Statement& s) {
  s.words.take_any({"sc", "acq_rel"});
  s.instruction.results = 0;
  const std::string_view scope = s.words.take_one({"cta", "gl", "gpu", "sys"});
  s.instruction.execute = scope == "cta" ? &do_nothing : scope.empty() ? nullptr : &fence;
}

constexpr TableEntry kTable[] = {
    {"atom", &decode_atomic, 3}, {"red", &decode_atomic, 2}, {"membar", &decode_fence}, {"fence", &decode_fence}};

}  // namespace

std::span<const TableEntry> atomic_instructions() { return kTable; }

}  // namespace weft::cuda_device
