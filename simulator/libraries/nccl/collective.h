// SPDX-License-Identifier: Apache-2.0
// Collectives as functions of the bytes of their ranks.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::cuda_device {

// One call, as all ranks must make it. An exchange is what a group has of sends and receives: what ranks say of it fits
// together, and need not be the same (exchange.h).
struct Collective {
  enum class Kind { AllReduce, Reduce, Broadcast, ReduceScatter, AllGather, Exchange };
  Kind kind = Kind::AllReduce;
  size_t count = 0;  // elements, as the call means them: of each rank's smaller buffer
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;

  size_t send_bytes(int rank, int ranks) const;     // 0: this rank's buffer is not read
  size_t receive_bytes(int rank, int ranks) const;  // 0: it is not written
  std::string name() const;                         // "AllReduce of 100 elements of type 7"
  bool operator==(const Collective&) const = default;
};

using Bytes = std::vector<std::byte>;

// What `rank` receives, from what all sent. Sums go from rank to rank and are rounded to the type each time, as around
// a ring.
Bytes received_by(int rank, const Collective& what, const std::vector<Bytes>& sent);

// Types that can be reduced here.
bool is_known(ncclDataType_t type);
size_t bytes_of(ncclDataType_t type);

}  // namespace weft::cuda_device
