// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/kernel_counts.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace weft::cuda_device {
namespace {

void write_one(std::ostream& out, const std::string& name, const KernelCounts& k) {
  const auto number = [&](const char* key, uint64_t value) { out << ", \"" << key << "\": " << value; };
  const auto traffic = [&](const std::string& key, const Traffic& t) {
    number((key + "_requests").c_str(), t.requests);
    number((key + "_sectors").c_str(), t.sectors);
    number((key + "_wanted_bytes").c_str(), t.wanted_bytes);
  };
  const Counters& c = k.counted;
  out << "{\"kernel\": \"" << name << '"';  // a C++ name has nothing to escape
  number("launches", c.launches), number("blocks", k.blocks), number("threads", k.threads);
  number("shared_bytes", k.shared_bytes);
  number("instructions", c.instructions), number("lane_instructions", c.lane_instructions);
  Traffic whole = c.loads.back();
  traffic("whole", whole += c.stores.back());
  traffic("global", c.global());
  traffic("atomic", c.atomics);
  number("shared_requests", c.shared_requests), number("shared_cycles", c.shared_cycles);
  number("shared_least_cycles", c.shared_least_cycles);
  number("matrix_products", c.matrix_products), number("matrix_loads", c.matrix_loads);
  number("copy_waits", c.copy_waits), number("waits_with_copies_in_flight", c.waits_with_copies_in_flight);
  out << '}';
}

}  // namespace

void KernelCounts::add(const Launch& launch, const Counters& cost) {
  counted += cost;
  blocks += launch.grid.size();
  threads = std::max<uint64_t>(threads, launch.block.size());
  shared_bytes = std::max<uint64_t>(shared_bytes, launch.kernel->shared_bytes + launch.dynamic_shared_bytes);
}

KernelCounts& KernelCounts::operator+=(const KernelCounts& other) {
  counted += other.counted;
  blocks += other.blocks;
  threads = std::max(threads, other.threads);
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
  return *this;
}

void write_counts(const CountsByKernel& counts, const std::string& path) {
  std::ofstream out(path);
  const char* before = "[";
  for (const auto& [name, kernel] : counts) {
    out << before << '\n';
    write_one(out, name, kernel);
    before = ",";
  }
  out << (counts.empty() ? "[]\n" : "\n]\n");
  if (!out.flush()) throw std::runtime_error("WEFT_CUDA_DEVICE_COUNTS: " + path + " cannot be written");
}

}  // namespace weft::cuda_device
