// SPDX-License-Identifier: Apache-2.0
// A collective of a rank in its stream, or in the graph that the stream captures.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/libraries/nccl/communicator.h"

namespace weft::cuda_device {

struct Turn;
using Batch = std::map<int, std::shared_ptr<Turn>>;  // by device: calls that it received together

// A collective of a rank, with the arguments of its call.
struct Call {
  std::shared_ptr<Clique> clique;
  std::shared_ptr<int> graphs;
  int rank, device;
  Collective what;
  const void* from;
  void* to;
  std::string name;
  std::shared_ptr<const std::vector<Transfer>> transfers = nullptr;  // the transfers of an exchange
};

void put(Simulator& all, const Call& call, Stream& stream, Batch& batch);
void capture(Simulator& all, const Call& call, Stream& stream);

}  // namespace weft::cuda_device
