// SPDX-License-Identifier: Apache-2.0
// Collectives as functions of the bytes that their ranks send.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::cuda_device {

// One call, which all ranks must make alike. An exchange holds a group's sends and receives: those of the ranks must
// match each other, but need not be equal (exchange.h).
struct Collective {
  enum class Kind { AllReduce, Reduce, Broadcast, ReduceScatter, AllGather, Exchange };
  Kind kind = Kind::AllReduce;
  size_t count = 0;  // elements, as in the call: those of each rank's smaller buffer
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;

  size_t send_bytes(int rank, int ranks) const;     // 0: this rank's buffer is not read
  size_t receive_bytes(int rank, int ranks) const;  // 0: this rank's buffer is not written
  std::string name() const;                         // "AllReduce of 100 elements of type 7"
  bool operator==(const Collective&) const = default;
};

using Bytes = std::vector<std::byte>;

// The bytes that `rank` receives when the ranks have sent `sent`. Sums go from rank to rank, as around a ring, and are
// rounded to the type each time.
Bytes received_by(int rank, const Collective& what, const std::vector<Bytes>& sent);

// Whether the type can be reduced here.
bool is_known(ncclDataType_t type);
size_t bytes_of(ncclDataType_t type);

}  // namespace weft::cuda_device
