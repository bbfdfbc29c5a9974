// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

enum class ReduceOp : uint8_t { Sum, Max };

// Small values and texts between the hosts of an axis' ranks, in their memory: they decide, and compute nothing. It
// shares nothing with the device plane that carries tensors, whose queue it neither waits for nor holds up. Every rank
// makes the same calls in the same order; each call returns when its result is there.
class HostPlane {
 public:
  virtual ~HostPlane() = default;
  virtual void all_reduce(std::span<double> values, ReduceOp op) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // The values of all ranks in their order into `all` on rank 0, which must have room for them; other ranks leave it
  // unused.
  virtual void gather(std::span<const double> mine, std::span<double> all) = 0;
  virtual void barrier() = 0;
};

// One rank alone, or the dry ranks, whose values are their own.
std::unique_ptr<HostPlane> single_host_plane();

}  // namespace weft
