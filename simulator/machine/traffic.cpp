// SPDX-License-Identifier: Apache-2.0
// Traffic of the hardware: 32-byte sectors of global memory, cycles of shared memory with its 32 banks of 4 bytes.
#include <algorithm>
#include <bit>
#include <tuple>

#include "simulator/machine/access.h"

namespace weft::cuda_device {
namespace {

constexpr uint64_t kSector = 32;
constexpr int kBanks = 32;
constexpr uint64_t kBankBytes = 4;

// Counts distinct values among a few, most of which are in order.
class Distinct {
 public:
  void add(uint64_t v) {
    if (count_ > 0 && values_[size_t(count_ - 1)] == v) return;
    ordered_ = ordered_ && (count_ == 0 || values_[size_t(count_ - 1)] < v);
    values_[size_t(count_++)] = v;
  }
  int finish() {
    if (ordered_) return count_;
    std::sort(values_.begin(), values_.begin() + count_);
    return count_ = int(std::unique(values_.begin(), values_.begin() + count_) - values_.begin());
  }
  const uint64_t* begin() const { return values_.data(); }
  const uint64_t* end() const { return values_.data() + count_; }

 private:
  std::array<uint64_t, kLanes * 4> values_;
  int count_ = 0;
  bool ordered_ = true;
};

Traffic global_traffic(uint32_t exec, const Addresses& addresses, int bytes) {
  Distinct sectors;
  for_each_lane(exec, [&](int l) { sectors.add(addresses[size_t(l)] / kSector); });
  return {1, uint64_t(sectors.finish()), uint64_t(bytes) * uint64_t(std::popcount(exec))};
}

Traffic side_by_side_traffic(uint32_t exec, const Addresses& addresses, int bytes) {
  const uint64_t first = addresses[size_t(std::countr_zero(exec))];
  const uint64_t wanted = uint64_t(bytes) * uint64_t(std::popcount(exec));
  return {1, (first + wanted - 1) / kSector - first / kSector + 1, wanted};
}

// One part of a request, in units of the access's width: unit u is in the banks of group u % groups.
struct Part {
  std::array<uint64_t, kBanks> first = {};  // for each group, a unit + 1
  uint64_t units = 0, cycles = 1;           // distinct units; the most units of one group
  bool one_each = true;                     // no group has two units
};

// Counts exactly the units of groups that have more than one.
void count_conflicts(uint32_t part, const Addresses& addresses, int shift, uint64_t groups, Part* p) {
  Distinct units;
  for_each_lane(part, [&](int l) { units.add(addresses[size_t(l)] >> shift); });
  p->units = uint64_t(units.finish());
  std::array<uint8_t, kBanks> busy = {};
  uint8_t most = 1;
  for (const uint64_t u : units) most = std::max(most, ++busy[u % groups]);
  p->cycles = most;
}

Part part_of(uint32_t part, const Addresses& addresses, int shift, uint64_t groups) {
  Part p;
  for_each_lane(part, [&](int l) {
    const uint64_t unit = (addresses[size_t(l)] >> shift) + 1;
    uint64_t& first = p.first[(unit - 1) % groups];
    p.units += first == 0;
    p.one_each = p.one_each && (first == 0 || first == unit);
    first = unit;
  });
  if (!p.one_each) count_conflicts(part, addresses, shift, groups, &p);
  return p;
}

bool asks_for_no_more(const Part& p, const Part& than) {
  if (!p.one_each || !than.one_each) return false;
  for (size_t g = 0; g < p.first.size(); ++g)
    if (p.first[g] != 0 && p.first[g] != than.first[g]) return false;
  return true;
}

// A request of 8 or 16 bytes a lane is served in two or four parts, of 16 or 8 lanes; in each the busiest bank decides.
// A part that requests only words of the previous part is served with it.
void count_shared(Counters& c, uint32_t exec, const Addresses& addresses, int bytes) {
  const int width = std::max(bytes, int(kBankBytes)), shift = std::countr_zero(unsigned(width));
  const int lanes = kLanes * int(kBankBytes) / width;
  uint64_t cycles = 0, units = 0;
  Part last;
  for (int first = 0; first < kLanes; first += lanes) {
    const uint32_t part = exec & (lanes == kLanes ? kAllLanes : ((1u << lanes) - 1) << first);
    if (!part) continue;
    const Part p = part_of(part, addresses, shift, uint64_t(lanes));
    if (units > 0 && asks_for_no_more(p, last)) continue;
    units += p.units;
    cycles += p.cycles;
    last = p;
  }
  const uint64_t words = units * uint64_t(width) / kBankBytes;
  c.shared_requests += 1;
  c.shared_cycles += cycles;
  c.shared_least_cycles += (words + kBanks - 1) / kBanks;
}

// All lanes consecutive, or all at one place: counted without visiting each lane.
void count_simple_shared(Counters& c, int lanes, int bytes) {
  const uint64_t cycles = uint64_t(lanes * bytes + kBanks * int(kBankBytes) - 1) / (kBanks * kBankBytes);
  c.shared_requests += 1;
  c.shared_cycles += cycles;
  c.shared_least_cycles += cycles;
}

}  // namespace

void count_traffic(Counters& counters, uint32_t exec, const Addresses& addresses, Pattern pattern,
                   const Access& access) {
  const auto [space, bytes, kind] = std::tuple(access.space, access.bytes, access.kind);
  if (space == Space::Shared && pattern != Pattern::Scattered)
    return count_simple_shared(counters, pattern == Pattern::OnePlace ? 1 : std::popcount(exec), bytes);
  if (space == Space::Shared) return count_shared(counters, exec, addresses, bytes);
  if (space != Space::Global) return;
  const Traffic t = pattern == Pattern::SideBySide ? side_by_side_traffic(exec, addresses, bytes)
                                                   : global_traffic(exec, addresses, bytes);
  const auto width = size_t(std::countr_zero(unsigned(bytes)));
  Traffic& sum = kind == Touch::Atomic ? counters.atomics
                 : kind == Touch::Read ? counters.loads[width]
                                       : counters.stores[width];
  sum += t;
}

Traffic& Traffic::operator+=(const Traffic& o) {
  requests += o.requests;
  sectors += o.sectors;
  wanted_bytes += o.wanted_bytes;
  return *this;
}

Traffic Counters::global() const {
  Traffic sum;
  for (size_t k = 0; k < kWidths.size(); ++k) (sum += loads[k]) += stores[k];
  return sum;
}

Counters& Counters::operator+=(const Counters& o) {
  launches += o.launches;
  instructions += o.instructions;
  lane_instructions += o.lane_instructions;
  for (size_t k = 0; k < kWidths.size(); ++k) {
    loads[k] += o.loads[k];
    stores[k] += o.stores[k];
  }
  atomics += o.atomics;
  shared_requests += o.shared_requests;
  shared_cycles += o.shared_cycles;
  shared_least_cycles += o.shared_least_cycles;
  matrix_products += o.matrix_products;
  matrix_loads += o.matrix_loads;
  copy_waits += o.copy_waits;
  waits_with_copies_in_flight += o.waits_with_copies_in_flight;
  return *this;
}

}  // namespace weft::cuda_device
