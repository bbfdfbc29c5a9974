// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/access.h"

#include <algorithm>

namespace weft::cuda_device {
namespace {

bool is_contiguous(uint32_t lanes) { return std::has_single_bit((lanes >> std::countr_zero(lanes)) + uint64_t{1}); }

// Whether the bytes of all active lanes are consecutive, in order.
bool side_by_side(uint32_t exec, const Addresses& a, int bytes) {
  if (!is_contiguous(exec)) return false;
  const int first = std::countr_zero(exec);
  const uint64_t base = a[size_t(first)] - uint64_t(first * bytes);
  uint32_t wrong = 0;
  for (int l = 0; l < kLanes; ++l) wrong |= uint32_t(a[size_t(l)] != base + uint64_t(l * bytes)) << l;
  return (wrong & exec) == 0;
}

bool at_one_place(uint32_t exec, const Addresses& a) {
  const uint64_t first = a[size_t(std::countr_zero(exec))];
  uint32_t wrong = 0;
  for (int l = 0; l < kLanes; ++l) wrong |= uint32_t(a[size_t(l)] != first) << l;
  return (wrong & exec) == 0;
}

Space space_of(uint64_t address) {
  if (address - kSharedWindow < kWindowBytes) return Space::Shared;
  return address - kLocalWindow < kWindowBytes ? Space::Local : Space::Global;
}
uint64_t window_of(Space space) {
  return space == Space::Shared ? kSharedWindow : space == Space::Local ? kLocalWindow : 0;
}

Accessor accessor(const Warp& w, int lane, const Access& access) {
  Accessor who = access.space == Space::Shared ? w.block->shared : w.block->global;
  who.thread = w.thread(lane);
  who.moment = w.moment;
  who.whole_warp = access.whole_warp;
  return who;
}

// Checks the accesses of lanes to one kind of memory, and finds their bytes.
class Checker {
 public:
  Checker(Warp& w, const Instruction& i, const Access& access) : w_(w), i_(i), access_(access) {}

  // The bytes of `lanes` consecutive lanes from `lane` on. Null if one lane has a finding; then nothing is recorded.
  std::byte* bulk(int lane, int lanes, uint64_t address) {
    const size_t bytes = size_t(lanes * access_.bytes);
    if (access_.space == Space::Local || address % uint64_t(access_.bytes)) return nullptr;
    if (access_.space == Space::Shared) {
      if (address + bytes > w_.block->shared_bytes.size()) return nullptr;
      note(w_.block->shared_shadow, address, lane, lanes, nullptr);
      return w_.block->shared_bytes.data() + address;
    }
    const Allocation* a = allocation(address, bytes);
    if (w_.block->memory->fault_of(a, address, bytes)) return nullptr;
    note(a->shadow, address - a->address, lane, lanes, a);
    return w_.block->memory->alias(*a, address);
  }

  std::byte* lane(int lane, uint64_t address) {
    if (address % uint64_t(access_.bytes)) {
      say(lane, ReportKind::Alignment,
          "address " + std::to_string(address) + " is no multiple of the " + std::to_string(access_.bytes) +
              " bytes of the access");
      return nullptr;
    }
    if (access_.space == Space::Local) return local(lane, address);
    if (std::byte* p = bulk(lane, 1, address)) return p;
    if (access_.space == Space::Shared) {
      say(lane, ReportKind::Bounds,
          "bytes " + std::to_string(address) + " to " + std::to_string(address + uint64_t(access_.bytes)) +
              " of shared memory (" + std::to_string(w_.block->shared_bytes.size()) + " bytes)");
      return nullptr;
    }
    const auto fault = w_.block->memory->fault_of(w_.block->memory->find(address), address, size_t(access_.bytes));
    say(lane, fault.kind, fault.text);
    return nullptr;
  }

 private:
  void say(int lane, ReportKind kind, const std::string& what) { report(w_, i_, lane, kind, what); }

  std::byte* local(int lane, uint64_t address) {
    const size_t each = w_.block->kernel().local_bytes;
    if (address + uint64_t(access_.bytes) <= each)
      return w_.block->local_bytes.data() + w_.thread(lane) * each + address;
    say(lane, ReportKind::Bounds,
        "byte " + std::to_string(address) + " of local memory (" + std::to_string(each) + " bytes a thread)");
    return nullptr;
  }

  const Allocation* allocation(uint64_t address, size_t bytes) {
    const Allocation*& recent = w_.block->recent[size_t(w_.pc) % w_.block->recent.size()];
    if (!recent || address - recent->address >= recent->bytes || address - recent->address + bytes > recent->bytes)
      recent = w_.block->memory->find(address);
    return recent;
  }

  void note(Shadow& shadow, size_t offset, int lane, int lanes, const Allocation* a) {
    Accessor who = accessor(w_, lane, access_);
    const auto width = size_t(access_.bytes);
    who.zero_is_written = a && a->kind != Allocation::Kind::Device;
    // Single bytes have no stamps: neighbouring bytes count as one access of the warp.
    if (width < kGranule && lanes > 1) who.whole_warp = true;
    const Conflict c = width < kGranule ? shadow.touch_range(offset, width * size_t(lanes), access_.kind, who)
                       : lanes > 1      ? shadow.touch_lanes(offset, width, lanes, access_.kind, who)
                                        : shadow.touch(offset, width, access_.kind, who);
    if (!c) return;
    const size_t byte = c.granule * kGranule;
    const int at = lane + (byte > offset ? int((byte - offset) / width) : 0);
    say_conflict(c, std::min(at, lane + lanes - 1), a);
  }

  void say_conflict(const Conflict& c, int lane, const Allocation* a) {
    const std::string memory = a ? Memory::name_of(*a) : "shared memory";
    auto fault = w_.block->memory->fault_of(c, memory, access_.kind);
    if (!a && c.why == Conflict::Why::Uninitialised && in_flight(c.granule * kGranule))
      fault = {ReportKind::AsyncCopy, "reads byte " + std::to_string(c.granule * kGranule) +
                                          " of shared memory, where a cp.async that was not waited for will write"};
    say(lane, fault.kind, fault.text);
  }

  bool in_flight(uint64_t byte) const {
    for (const Warp& w : w_.block->warps)
      for (const AsyncCopy& c : w.copies)
        for (int l = 0; l < kLanes; ++l)
          if ((c.lanes >> l & 1) && byte - c.to[size_t(l)] < c.bytes) return true;
    return false;
  }

  Warp& w_;
  const Instruction& i_;
  const Access& access_;
};

// Turns generic addresses into addresses of their memory. False: the lanes address different memories.
bool resolve(uint32_t exec, Addresses* addresses, Access* access) {
  if (access->space == Space::Const) access->space = Space::Global;
  if (access->space != Space::Generic) return true;
  access->space = space_of((*addresses)[size_t(std::countr_zero(exec))]);
  const uint64_t base = window_of(access->space);
  bool same = true;
  for_each_lane(exec, [&](int l) { same = same && space_of((*addresses)[size_t(l)]) == access->space; });
  for (uint64_t& a : *addresses) a -= base;
  if (same) return true;
  for (uint64_t& a : *addresses) a += base;
  access->space = Space::Generic;
  return false;
}

// The number of active lanes from `lane` on whose bytes are consecutive.
int run_of(uint32_t exec, const Addresses& a, int bytes, int lane) {
  int end = lane + 1;
  while (end < kLanes && (exec >> end & 1) && a[size_t(end)] == a[size_t(end - 1)] + uint64_t(bytes)) ++end;
  return end - lane;
}

void reach_run(Checker& checker, int lane, int lanes, const Addresses& addresses, int bytes, Reached* r) {
  std::byte* first = lanes > 1 ? checker.bulk(lane, lanes, addresses[size_t(lane)]) : nullptr;
  for (int k = 0; k < lanes; ++k) {
    const auto l = size_t(lane + k);
    r->at[l] = first ? first + k * bytes : checker.lane(lane + k, addresses[l]);
    r->good |= uint32_t(r->at[l] != nullptr) << l;
  }
}

}  // namespace

Addresses addresses_of(const Warp& w, const Operand& o) {
  Addresses a;
  const auto offset = uint64_t(int64_t{o.offset});
  if (o.width == 8) {
    const auto* base = w.lanes<uint64_t>(o);
    for (int l = 0; l < kLanes; ++l) a[size_t(l)] = base[l] + offset;
  } else {
    const auto* base = w.lanes<uint32_t>(o);
    for (int l = 0; l < kLanes; ++l) a[size_t(l)] = base[l] + offset;
  }
  return a;
}

std::byte* reach_lane(Warp& w, const Instruction& i, int lane, uint64_t address, const Access& access) {
  Access one = access;
  Addresses addresses;
  addresses[size_t(lane)] = address;
  resolve(1u << lane, &addresses, &one);
  if (one.counted) count_traffic(*w.block->counters, 1u << lane, addresses, Pattern::SideBySide, one);
  return Checker(w, i, one).lane(lane, addresses[size_t(lane)]);
}

Reached reach(Warp& w, const Instruction& i, const Addresses& given, const Access& wanted) {
  Reached r;
  Addresses addresses = given;
  Access access = wanted;
  if (!resolve(w.exec, &addresses, &access)) {
    for_each_lane(w.exec, [&](int l) {
      r.at[size_t(l)] = reach_lane(w, i, l, addresses[size_t(l)], access);
      r.good |= uint32_t(r.at[size_t(l)] != nullptr) << l;
    });
    return r;
  }
  const Pattern pattern = side_by_side(w.exec, addresses, access.bytes) ? Pattern::SideBySide
                          : at_one_place(w.exec, addresses)             ? Pattern::OnePlace
                                                                        : Pattern::Scattered;
  if (access.counted) count_traffic(*w.block->counters, w.exec, addresses, pattern, access);
  Checker checker(w, i, access);
  const int first = w.first_lane(), lanes = std::popcount(w.exec);
  const bool apart = access.kind == Touch::Atomic || access.whole_warp;
  if (pattern == Pattern::SideBySide && !apart) {
    if (std::byte* p = checker.bulk(first, lanes, addresses[size_t(first)])) {
      r.first = p;
      r.good = w.exec;
      return r;
    }
  }
  if (pattern == Pattern::OnePlace && access.kind == Touch::Read && access.space != Space::Local) {
    access.whole_warp = true;
    std::byte* p = checker.lane(first, addresses[size_t(first)]);
    r.at.fill(p);
    r.good = p ? w.exec : 0;
    return r;
  }
  for (int l = first; l < kLanes;) {
    const int together = apart ? 1 : run_of(w.exec, addresses, access.bytes, l);
    reach_run(checker, l, together, addresses, access.bytes, &r);
    l += together;
    while (l < kLanes && !(w.exec >> l & 1)) ++l;
  }
  return r;
}

}  // namespace weft::cuda_device
