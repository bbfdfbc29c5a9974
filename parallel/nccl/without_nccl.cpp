// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "parallel/nccl/communicator.h"

namespace weft {

std::string describe_nccl() { return "built without it: one rank computes on a CUDA device"; }

void require_nccl(int ranks) {
  throw ConfigError(fmt::format("device: cuda on {} ranks: this weft is built without NCCL", ranks),
                    "rebuild weft with -DWEFT_NCCL=ON (docs/installation.md); or start one rank, or set device to cpu");
}

void let_nccl_share_device(const std::string&) {}

Mesh nccl_mesh(const MeshLayout&, int, const MakeHostPlane&, Context&, std::shared_ptr<Heartbeat>) {
  throw InternalError("this build has no NCCL");
}

}  // namespace weft
