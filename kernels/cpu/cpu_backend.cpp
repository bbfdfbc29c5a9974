// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"

#include <fmt/core.h>

#include <cstring>

#include "kernels/cpu/attention/blocks.h"
#include "kernels/cpu/levels.h"

namespace weft::cpu {

CpuBackend::CpuBackend(int threads, std::shared_ptr<Allocator> allocator)
    : Backend(implementations_of<CpuBackend>()),
      threads_(threads),
      allocator_(std::move(allocator)),
      matmul_(threads) {}

std::vector<std::pair<std::string, std::string>> CpuBackend::fingerprint() const {
  return {{"cpu_level", std::string(enum_name(chosen_level()))},
          {"matmul", MatmulEngine::library()},
          {"heuristics", MatmulEngine::heuristics()},
          {"attention", fmt::format("blocks {0} x {1} forward, {0} x {2} backward", kQueryBlock, kForwardKeyBlock,
                                    kBackwardKeyBlock)}};
}

// With this multiple, rows of fp32 logits begin on a cache line.
int64_t CpuBackend::vocabulary_multiple() const { return 16; }

// Where the weight is small, a chunk's logits stay in a cache between their product and their use.
LogitsChunk CpuBackend::logits_chunk() const {
  return {.least_bytes = int64_t{4} << 20, .most_bytes = int64_t{128} << 20, .row_step = 1};
}

void CpuBackend::upload(std::span<const std::byte> from, const Tensor& to) {
  std::memcpy(to.device_raw(), from.data(), from.size());
}

void CpuBackend::download(const Tensor& from, std::span<std::byte> to) {
  std::memcpy(to.data(), from.device_raw(), to.size());
}

}  // namespace weft::cpu
