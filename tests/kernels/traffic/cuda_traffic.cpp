// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/traffic/cuda_traffic.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "simulator/ptx/readable_name.h"
#include "tests/support/managed_backend.h"

namespace weft::test {

using cuda_device::Counters;
using cuda_device::Traffic;

CudaTraffic::CudaTraffic(const TrafficCase& c)
    : dtype_(c.dtype), width_(c.width), context_(1, managed_cuda_backend(1)) {
  state_.dropout_key = 7;
}

Tensor CudaTraffic::sorted() {
  std::vector<int32_t> rows;
  for (int32_t r = 0; r < kRows; ++r) rows.push_back(r);
  return integers(context_, rows);
}

std::span<const Exempt> exempt_kernels() {
  static constexpr Exempt kAll[] = {
      {"probe", 0, "does nothing"},
      {"cross_entropy_losses", 0, "five numbers a row"},
      {"cross_entropy_rebase", 0, "three numbers a row"},
      {"cross_entropy_rows", 0.66,
       "beside four logits of f32 it writes four gradients of bf16, 8 bytes; 256 bytes of a warp lie side by side"},
      {"fixed_point_elements", 0.79,
       "beside 16 bytes each of two high and two low parts it reads two floats, 8 bytes; 256 of a warp lie side by "
       "side"},
      {"elements_of_fixed_point", 0.79, "as fixed_point_elements, whose floats it writes"},
      {"multiply_tiles", 0,
       "products that cuBLASLt refuses, such as those of one column: whole requests are not theirs"},
      {"sum_blocks_of_parts", 0, "a number in f64 for each block of the sum before"},
      {"swap_heads_and_sequences", 0, "a number a row and head, and of a library's attention alone"},
      {"cached_attention_join", 0.85,
       "beside each 256 bytes of a chunk's row their maximum and sum, and of a row its place"},
      {"embed_backward_join", 0.8,
       "most of its blocks find nothing to join: three numbers of rows are all that they read"},
  };
  return kAll;
}

std::string family_of(const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  return name.substr(name.rfind(':') + 1);
}

std::set<std::string> kernels_of_the_program() {
  std::set<std::string> all;
  for (const std::string& mangled : cuda_device::simulator().programs.function_names()) {
    all.insert(family_of(cuda_device::readable_name(mangled)));
  }
  return all;
}

void CudaTraffic::begin() { before_ = std::exchange(cuda_device::simulator().kernels, {}); }

void CudaTraffic::expect_requested(const char* operation, const Requested& requested) {
  Counters all;
  for (const auto& [kernel, cost] : cuda_device::simulator().kernels) all += cost.counted;
  const double bytes = 32.0 * static_cast<double>(all.global().sectors + all.atomics.sectors);
  std::printf("%-28s %-5s %6lld: %.0f bytes, %.3f of what is to be asked for\n", operation,
              std::string(name(dtype_)).c_str(), static_cast<long long>(width_), bytes, bytes / requested.bytes);
  EXPECT_NEAR(bytes, requested.bytes, 0.1 * requested.bytes) << operation;
  EXPECT_EQ(static_cast<int64_t>(all.matrix_products), requested.matrix_products) << operation;
  EXPECT_EQ(static_cast<int64_t>(all.matrix_loads), requested.matrix_loads) << operation;
  EXPECT_EQ(static_cast<int64_t>(all.waits_with_copies_in_flight), requested.waits_with_copies_in_flight) << operation;
}

void CudaTraffic::expect_rules(const char* operation, double least_share) {
  const auto part = [](uint64_t of, uint64_t all) {
    return all == 0 ? 1 : static_cast<double>(of) / static_cast<double>(all);
  };
  for (const auto& [kernel, cost] : cuda_device::simulator().kernels) {
    ran_.insert(family_of(kernel));
    const Counters& c = cost.counted;
    Traffic whole = c.loads.back();
    whole += c.stores.back();
    const double share = part(whole.sectors, c.global().sectors), wanted = part(whole.wanted_bytes, 32 * whole.sectors);
    const double conflicts = part(c.shared_cycles, c.shared_least_cycles);
    std::printf("%-28s %-5s %6lld: %5.1f %% of sectors by 16-byte requests, %5.1f %% of them wanted, shared %.2f: %s\n",
                operation, std::string(name(dtype_)).c_str(), static_cast<long long>(width_), 100 * share, 100 * wanted,
                conflicts, kernel.c_str());
    const auto exempt = std::ranges::find(exempt_kernels(), family_of(kernel), &Exempt::kernel);
    EXPECT_GE(share, exempt == exempt_kernels().end() ? least_share : std::min(least_share, exempt->share))
        << operation << ": " << kernel;
    EXPECT_GE(wanted, 0.9) << operation << ": " << kernel;
    EXPECT_LE(conflicts, 1.1) << operation << ": " << kernel;
  }
  // The process's report at its end covers all operations.
  for (const auto& [kernel, cost] : before_) cuda_device::simulator().kernels[kernel] += cost;
}

}  // namespace weft::test
