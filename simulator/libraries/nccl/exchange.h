// SPDX-License-Identifier: Apache-2.0
// The sends and receives of a group: a rank sends one message of bytes, which lists its parts and their receivers, and
// also what the rank itself receives.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/libraries/nccl/collective.h"

namespace weft::cuda_device {

// One call of ncclSend or ncclRecv: a send reads `data`, a receive writes it.
struct Transfer {
  bool sends = false;
  int peer = 0;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  void* data = nullptr;
  size_t bytes() const { return count * bytes_of(type); }
};

// `read` returns the bytes of one send.
Bytes packed(const std::vector<Transfer>& transfers, const std::function<Bytes(const Transfer&)>& read);

// A sentence if the sends and receives of `rank` do not match those of another rank, in the order of the calls.
// nullopt: they match.
std::optional<std::string> misfit(int rank, const std::vector<Bytes>& messages);

// The bytes from `peer` to `rank`, in the order of the calls.
std::vector<Bytes> received_from(int peer, int rank, const std::vector<Bytes>& messages);

}  // namespace weft::cuda_device
