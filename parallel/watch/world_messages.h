// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/watch/node_status.h"

namespace weft {

// Drawn by rank 0 at the start of a run: datagrams without this token come from another run or another program.
using RunToken = std::array<uint64_t, 2>;

// Encodes where ranks are, for the watchdogs of other nodes, in datagrams of Datagrams::kMost bytes at most; one if
// there are no ranks. Times are sent as ages, since each node has its own clock. All machines of a run have the same
// byte order.
std::vector<std::string> to_datagrams(const RunToken& token, std::span<const NodeStatus::Entry> ranks);

// Decodes a datagram; nullopt unless it belongs to this run, is complete, and every value in it is valid: ranks are in
// a world of `world_size`, phases and axes exist, times are not negative, hosts are printable.
std::optional<std::vector<NodeStatus::Entry>> from_datagram(std::string_view bytes, const RunToken& token,
                                                            int world_size);

}  // namespace weft
