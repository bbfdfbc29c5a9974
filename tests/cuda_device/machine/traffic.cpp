// What the hardware would move: 32-byte sectors of global memory, cycles of shared memory with its 32 banks of 4 bytes.
#include <algorithm>
#include <bit>

#include "tests/cuda_device/machine/access.h"

namespace weft::cuda_device {
namespace {

constexpr uint64_t kSector = 32;
constexpr int kBanks = 32;
constexpr uint64_t kBankBytes = 4;

// Distinct values among a few, most of them in order already.
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

// A request of 8 or 16 bytes a lane is served in two or four parts, of 16 or 8 lanes; in each the busiest bank decides.
// A part that asks for nothing but words of an earlier one is served with it.
void count_shared(Counters& c, uint32_t exec, const Addresses& addresses, int bytes) {
  const int lanes = bytes <= 4 ? kLanes : kLanes * 4 / bytes;
  const auto words_of = [&](int lane) { return addresses[size_t(lane)] / kBankBytes; };
  const uint64_t words_a_lane = uint64_t(std::max(bytes, 4)) / kBankBytes;
  Distinct all;
  uint64_t cycles = 0;
  for (int first = 0; first < kLanes; first += lanes) {
    const uint32_t part = exec & (lanes == kLanes ? kAllLanes : ((1u << lanes) - 1) << first);
    if (!part) continue;
    Distinct words;
    for_each_lane(part, [&](int l) {
      for (uint64_t w = 0; w < words_a_lane; ++w) words.add(words_of(l) + w);
    });
    words.finish();
    const bool served = std::ranges::all_of(words, [&](uint64_t w) { return std::ranges::find(all, w) != all.end(); });
    if (served) continue;
    for (const uint64_t w : words) all.add(w);
    std::array<uint8_t, kBanks> busy = {};
    uint8_t most = 1;
    for (const uint64_t w : words) most = std::max(most, ++busy[w % kBanks]);
    cycles += most;
  }
  c.shared_requests += 1;
  c.shared_cycles += cycles;
  c.shared_least_cycles += uint64_t(all.finish() + kBanks - 1) / kBanks;
}

}  // namespace

void count_traffic(Counters& counters, uint32_t exec, const Addresses& addresses, Space space, int bytes, Touch kind) {
  if (space == Space::Shared) return count_shared(counters, exec, addresses, bytes);
  if (space != Space::Global) return;
  const Traffic t = global_traffic(exec, addresses, bytes);
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
  return *this;
}

}  // namespace weft::cuda_device
