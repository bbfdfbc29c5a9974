// SPDX-License-Identifier: Apache-2.0
// ld and st, of one to four elements a lane. Words that only concern caches change nothing here.
#include "simulator/machine/access.h"
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// Extends one element of one lane into a register that may be wider.
void extend(const std::byte* from, std::byte* to, const Instruction& i, int width) {
  uint64_t v = 0;
  std::memcpy(&v, from, i.bytes);
  if (i.is_signed && i.bytes < 8 && (v >> (8 * i.bytes - 1) & 1)) v |= ~uint64_t{0} << (8 * i.bytes);
  std::memcpy(to, &v, size_t(width));
}

// Loads element k of all lanes from consecutive memory, with `kCount` elements a lane.
template <class T, int kCount>
void load_side_by_side(Warp& w, const Instruction& i, const std::byte* first) {
  const auto* from = reinterpret_cast<const T*>(first);
  const int lowest = w.first_lane(), lanes = std::popcount(w.exec);
  for (int k = 0; k < kCount; ++k) {
    T* to = w.lanes<T>(i.operands[size_t(k)]) + lowest;
    if (lanes == kLanes)
      for (int l = 0; l < kLanes; ++l) to[l] = from[l * kCount + k];
    else
      for (int l = 0; l < lanes; ++l) to[l] = from[l * kCount + k];
  }
}
template <class T, int kCount>
void store_side_by_side(Warp& w, const Instruction& i, std::byte* first) {
  auto* to = reinterpret_cast<T*>(first);
  const int lowest = w.first_lane(), lanes = std::popcount(w.exec);
  for (int k = 0; k < kCount; ++k) {
    const T* from = w.lanes<T>(i.operands[size_t(k) + 1]) + lowest;
    if (lanes == kLanes)
      for (int l = 0; l < kLanes; ++l) to[l * kCount + k] = from[l];
    else
      for (int l = 0; l < lanes; ++l) to[l * kCount + k] = from[l];
  }
}

// Whether registers are as wide as the elements, so that nothing is extended.
bool is_plain(std::span<const Operand> registers, int bytes) {
  for (const Operand& o : registers)
    if (o.width != bytes) return false;
  return true;
}

template <class T, int kCount>
void load(Warp& w, const Instruction& i) {
  const auto registers = i.operands.first(kCount);
  const Access access{.space = i.space, .bytes = int(sizeof(T)) * kCount, .kind = Touch::Read};
  const Reached r = reach(w, i, addresses_of(w, i.operands[kCount]), access);
  const bool plain = is_plain(registers, sizeof(T));
  if (r.first && plain) return load_side_by_side<T, kCount>(w, i, r.first);
  const int lowest = w.first_lane();
  for_each_lane(r.good, [&](int l) {
    const std::byte* from = r.first ? r.first + (l - lowest) * access.bytes : r.at[size_t(l)];
    for (int k = 0; k < kCount; ++k) {
      const Operand& o = registers[size_t(k)];
      if (plain)
        std::memcpy(w.lanes<T>(o) + l, from + size_t(k) * sizeof(T), sizeof(T));
      else
        extend(from + size_t(k) * sizeof(T), w.lanes<std::byte>(o) + l * o.width, i, o.width);
    }
  });
}

template <class T, int kCount>
void store(Warp& w, const Instruction& i) {
  const auto registers = i.operands.subspan(1, kCount);
  const Access access{.space = i.space, .bytes = int(sizeof(T)) * kCount, .kind = Touch::Write};
  const Reached r = reach(w, i, addresses_of(w, i.operands[0]), access);
  if (r.first && is_plain(registers, sizeof(T))) return store_side_by_side<T, kCount>(w, i, r.first);
  const int lowest = w.first_lane();
  for_each_lane(r.good, [&](int l) {
    std::byte* to = r.first ? r.first + (l - lowest) * access.bytes : r.at[size_t(l)];
    for (int k = 0; k < kCount; ++k) {
      const Operand& o = registers[size_t(k)];
      std::memcpy(to + size_t(k) * sizeof(T), w.lanes<std::byte>(o) + l * o.width, sizeof(T));
    }
  });
}

// Loads a parameter of the kernel: the same for all lanes, and no memory to check.
void load_parameter(Warp& w, const Instruction& i) {
  const Operand& where = i.operands[i.count];
  const auto& parameters = w.block->launch->parameters;
  const uint64_t at = w.lanes<uint64_t>(where)[w.first_lane()] + uint64_t(int64_t{where.offset});
  if (at + size_t(i.bytes) * i.count > parameters.size())
    return report(w, i, w.first_lane(), ReportKind::Bounds, "reads past the parameters of the kernel");
  for (size_t k = 0; k < i.count; ++k) {
    const Operand& o = i.operands[k];
    for_each_lane(w.exec, [&](int l) {
      extend(parameters.data() + at + k * i.bytes, w.lanes<std::byte>(o) + l * o.width, i, o.width);
    });
  }
}

template <bool kLoad, int kCount>
Execute access_of(int bytes) {
  if (bytes == 1) return kLoad ? &load<uint8_t, kCount> : &store<uint8_t, kCount>;
  if (bytes == 2) return kLoad ? &load<uint16_t, kCount> : &store<uint16_t, kCount>;
  if (bytes == 4) return kLoad ? &load<uint32_t, kCount> : &store<uint32_t, kCount>;
  if (bytes == 8 && kCount <= 2) return kLoad ? &load<uint64_t, kCount> : &store<uint64_t, kCount>;
  return nullptr;
}

Space take_space(Words& words) {
  const std::string_view name =
      words.take_one({"global", "shared", "shared::cta", "local", "param", "param::entry", "param::func", "const"});
  if (name == "global") return Space::Global;
  if (name.starts_with("shared")) return Space::Shared;
  if (name == "local") return Space::Local;
  if (name.starts_with("param")) return Space::Param;
  return name == "const" ? Space::Const : Space::Generic;
}

void drop_cache_words(Words& words) {
  words.take_any({"nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "weak", "volatile", "relaxed", "cta", "gpu", "sys"});
  words.take_any({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  words.take_any({"L2::64B", "L2::128B", "L2::256B", "L2::cache_hint", "L2::evict_first", "L2::evict_last"});
}

template <bool kLoad>
void decode_access(Statement& s) {
  Instruction& i = s.instruction;
  i.space = take_space(s.words);
  drop_cache_words(s.words);
  const std::string_view count = s.words.take_one({"v2", "v4"}), type = s.words.take_last();
  i.count = count == "v2" ? 2 : count == "v4" ? 4 : 1;
  i.bytes = uint8_t(type_bytes(type));
  i.is_signed = type[0] == 's';
  i.results = kLoad ? i.count : 0;
  s.least_operands = size_t{i.count} + 1;
  s.widths = {std::max<int>(i.bytes, 2)};
  if (i.space == Space::Param) {
    if (kLoad && !s.of_call) {
      i.execute = &load_parameter;
      return;
    }
    i.space = Space::Local;
  }
  if (i.count == 1) i.execute = access_of<kLoad, 1>(i.bytes);
  if (i.count == 2) i.execute = access_of<kLoad, 2>(i.bytes);
  if (i.count == 4) i.execute = access_of<kLoad, 4>(i.bytes);
}

void do_nothing(Warp&, const Instruction&) {}
void decode_prefetch(Statement& s) {
  s.words.take_any({"global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal"});
  s.instruction.execute = &do_nothing;
  s.instruction.results = 0;
}

constexpr TableEntry kTable[] = {{"ld", &decode_access<true>, 2},
                                 {"ldu", &decode_access<true>, 2},
                                 {"st", &decode_access<false>, 2},
                                 {"prefetch", &decode_prefetch},
                                 {"prefetchu", &decode_prefetch}};

}  // namespace

std::span<const TableEntry> memory_instructions() { return kTable; }

}  // namespace weft::cuda_device
