// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/register_places.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "simulator/ptx/basic_blocks.h"

namespace weft::cuda_device {
namespace {

constexpr int32_t kNone = -1, kConstant = -2;  // in place of a register's number
constexpr size_t kUnit = sizeof(uint32_t);     // all places are multiples of this
constexpr size_t kAlignment = 64;

size_t bytes_of(uint8_t width) {
  const size_t size = width == Operand::kPredicate ? sizeof(uint32_t) : size_t{width} * kLanes;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// A set of registers, one bit each.
class Bits {
 public:
  explicit Bits(size_t count) : words_((count + 63) / 64) {}
  void set(int32_t k) { words_[size_t(k) / 64] |= uint64_t{1} << (k % 64); }
  bool has(int32_t k) const { return words_[size_t(k) / 64] >> (k % 64) & 1; }
  // Adds the registers of `other` except those of `without`. True: a register was new.
  bool add(const Bits& other, const Bits& without) {
    uint64_t fresh = 0;
    for (size_t k = 0; k < words_.size(); ++k) {
      const uint64_t more = other.words_[k] & ~without.words_[k] & ~words_[k];
      words_[k] |= more;
      fresh |= more;
    }
    return fresh != 0;
  }
  template <class F>
  void each(F&& f) const {
    for (size_t k = 0; k < words_.size(); ++k)
      for (uint64_t w = words_[k]; w; w &= w - 1) f(int32_t(k * 64) + std::countr_zero(w));
  }

 private:
  std::vector<uint64_t> words_;
};

struct BasicBlock {
  size_t first, end;
  std::vector<size_t> next;
  Bits needed, written, live;  // needed before the block writes them; written in all lanes; live at its beginning
};

struct Lifetime {
  size_t first = SIZE_MAX, last = 0;
  uint8_t width = 0;
  uint32_t place = 0;
  void include(size_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

class Sharing {
 public:
  Sharing(Kernel& kernel, size_t fixed_bytes);
  size_t run();

 private:
  int32_t number(const Operand& o) const { return numbers_[o.place / kUnit]; }
  void note(const Operand& o);
  template <class F>
  void each_read(const Instruction& i, F&& f) const;
  template <class F>
  void each_result(const Instruction& i, F&& f) const;
  void find_blocks();
  void find_live();
  void find_lifetimes();
  void place_all();

  Kernel& kernel_;
  size_t bytes_;
  std::vector<int32_t> numbers_;  // numbers of registers, by the unit of their first place
  std::vector<Lifetime> lifetimes_;
  std::vector<BasicBlock> blocks_;
};

Sharing::Sharing(Kernel& kernel, size_t fixed_bytes)
    : kernel_(kernel), bytes_(fixed_bytes), numbers_(kernel.register_bytes / kUnit, kNone) {
  for (const Constant& c : kernel.constants) numbers_[c.place.place / kUnit] = kConstant;
  const auto add = [&](const Operand& o) {
    if (o.place >= fixed_bytes && numbers_[o.place / kUnit] == kNone) note(o);
  };
  for (const Instruction& i : kernel.code)
    if (i.guarded) add(i.guard);
  for (const Operand& o : kernel.operands) add(o);
}

void Sharing::note(const Operand& o) {
  numbers_[o.place / kUnit] = int32_t(lifetimes_.size());
  lifetimes_.push_back({.width = o.width});
}

template <class F>
void Sharing::each_result(const Instruction& i, F&& f) const {
  for (const Operand& o : i.operands.first(i.results))
    if (const int32_t k = number(o); k >= 0) f(k);
}

template <class F>
void Sharing::each_read(const Instruction& i, F&& f) const {
  const auto read = [&](const Operand& o) {
    if (const int32_t k = number(o); k >= 0) f(k);
  };
  if (i.guarded) read(i.guard);
  for (const Operand& o : i.operands.subspan(i.results)) read(o);
}

void Sharing::find_blocks() {
  const auto& code = kernel_.code;
  const std::vector<bool> begins = begins_of_blocks(code);
  std::vector<size_t> block_of(code.size() + 1);
  for (size_t k = 0, first = 0; k < code.size(); ++k) {
    block_of[k] = blocks_.size();
    if (!begins[k + 1]) continue;
    const Bits none(lifetimes_.size());
    blocks_.push_back({first, k + 1, {}, none, none, none});
    first = k + 1;
  }
  for (BasicBlock& b : blocks_) {
    const Instruction& last = code[b.end - 1];
    if (last.flow == Flow::Branch) b.next.push_back(block_of[size_t(last.target)]);
    const bool goes_on = last.guarded || (last.flow != Flow::Branch && last.flow != Flow::Exit);
    if (goes_on && b.end < code.size()) b.next.push_back(block_of[b.end]);
  }
}

void Sharing::find_live() {
  const Bits none(lifetimes_.size());
  for (BasicBlock& b : blocks_) {
    for (size_t k = b.first; k < b.end; ++k) {
      const Instruction& i = kernel_.code[k];
      each_read(i, [&](int32_t r) {
        if (!b.written.has(r)) b.needed.set(r);
      });
      if (i.guarded) continue;  // a guarded write leaves some lanes unchanged
      each_result(i, [&](int32_t r) { b.written.set(r); });
    }
    b.live.add(b.needed, none);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = blocks_.size(); k-- > 0;)
      for (const size_t next : blocks_[k].next)
        changed = blocks_[k].live.add(blocks_[next].live, blocks_[k].written) || changed;
  }
}

// A lifetime reaches from the first to the last instruction at which a register is needed or written, in the order of
// the code: longer than necessary if the register is not needed in between.
void Sharing::find_lifetimes() {
  for (const BasicBlock& b : blocks_) {
    b.live.each([&](int32_t r) { lifetimes_[size_t(r)].include(b.first); });
    for (size_t k = b.first; k < b.end; ++k) {
      const auto include = [&](int32_t r) { lifetimes_[size_t(r)].include(k); };
      each_read(kernel_.code[k], include);
      each_result(kernel_.code[k], include);
    }
    for (const size_t next : b.next)
      blocks_[next].live.each([&](int32_t r) { lifetimes_[size_t(r)].include(b.end - 1); });
  }
}

// A place is free again after the instruction that needs it last, so that no instruction overwrites its operands; and
// only for registers of the same width, so that places do not overlap partly.
void Sharing::place_all() {
  std::vector<size_t> order(lifetimes_.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::sort(order, {}, [&](size_t k) { return lifetimes_[k].first; });
  std::multimap<size_t, size_t> ends;  // lifetimes in progress, by their last instruction
  std::array<std::vector<uint32_t>, 9> free;
  for (const size_t k : order) {
    Lifetime& life = lifetimes_[k];
    while (!ends.empty() && ends.begin()->first < life.first) {
      const Lifetime& over = lifetimes_[ends.begin()->second];
      free[over.width].push_back(over.place);
      ends.erase(ends.begin());
    }
    auto& places = free[life.width];
    if (places.empty()) {
      places.push_back(uint32_t(bytes_));
      bytes_ += bytes_of(life.width);
    }
    life.place = places.back();
    places.pop_back();
    ends.emplace(life.last, k);
  }
}

size_t Sharing::run() {
  find_blocks();
  find_live();
  find_lifetimes();
  place_all();
  std::vector<uint32_t> constants(numbers_.size());
  for (const Constant& c : kernel_.constants) {
    constants[c.place.place / kUnit] = uint32_t(bytes_);
    bytes_ += bytes_of(c.place.width);
  }
  const auto move = [&](Operand& o) {  // special registers keep their places
    const int32_t k = number(o);
    if (k >= 0) o.place = lifetimes_[size_t(k)].place;
    if (k == kConstant) o.place = constants[o.place / kUnit];
  };
  for (Instruction& i : kernel_.code)
    if (i.guarded) move(i.guard);
  for (Operand& o : kernel_.operands) move(o);
  for (Constant& c : kernel_.constants) move(c.place);
  return bytes_;
}

}  // namespace

size_t share_register_places(Kernel& kernel, size_t fixed_bytes) { return Sharing(kernel, fixed_bytes).run(); }

}  // namespace weft::cuda_device
