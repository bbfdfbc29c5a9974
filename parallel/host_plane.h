// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

enum class ReduceOp : uint8_t { Sum, Max };

// Exchanges small values and texts between the hosts of an axis' ranks, in host memory, for decisions and not for
// computation. It is independent of the device plane, which carries tensors: it neither waits for that plane's queue
// nor holds it up. Every rank makes the same calls in the same order; each call returns when its result is there.
class HostPlane {
 public:
  virtual ~HostPlane() = default;
  virtual void all_reduce(std::span<double> values, ReduceOp op) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  // Puts the values of all ranks, in rank order, into `all` on rank 0, which must have room for them; other ranks leave
  // `all` unused.
  virtual void gather(std::span<const double> mine, std::span<double> all) = 0;
  virtual void barrier() = 0;
};

// The host plane of a single rank, or of each dry rank: the rank's own values are the result.
std::unique_ptr<HostPlane> single_host_plane();

}  // namespace weft
