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

// Drawn by rank 0 at the start of a run: datagrams without it are of another run, or a stranger's.
using RunToken = std::array<uint64_t, 2>;

// Where ranks are, as watchdogs of different nodes tell each other: in datagrams of Datagrams::kMost bytes at most, one
// if there are no ranks. Times go as ages, since each node's clock is its own. Machines of one run order bytes alike.
std::vector<std::string> to_datagrams(const RunToken& token, std::span<const NodeStatus::Entry> ranks);

// What a datagram says; nullopt unless it is one of this run, whole, and all in it can be: its ranks are of a world of
// so many, its phases and axes are some, its times are no less than zero, its hosts are printable.
std::optional<std::vector<NodeStatus::Entry>> from_datagram(std::string_view bytes, const RunToken& token,
                                                            int world_size);

}  // namespace weft
