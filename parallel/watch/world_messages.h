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
#include "parallel/watch/siphash.h"

namespace weft {

// What every datagram of a run is signed with. Rank 0 draws it at the start and sends it over MPI: who only sees
// datagrams can neither make one nor change one.
using RunKey = SipKey;

// What one watchdog tells another in one datagram.
struct WorldMessage {
  int32_t sender = 0;   // the first rank of its node
  uint64_t number = 0;  // of the sender's datagrams, from 1: each has its own
  std::vector<NodeStatus::Entry> ranks;
};

// Encodes where ranks are, for the watchdogs of other nodes, in datagrams of Datagrams::kMost bytes at most; one if
// there are no ranks. `last` is the number of the sender's last datagram, and becomes that of the last one made. Times
// are sent as ages, since each node has its own clock. All machines of a run have the same byte order.
std::vector<std::string> to_datagrams(const RunKey& key, int32_t sender, uint64_t& last,
                                      std::span<const NodeStatus::Entry> ranks);

// Decodes a datagram; nullopt unless it is signed with the key of this run, is complete, and every value in it is
// valid: ranks are in a world of `world_size`, phases and axes exist, times are not negative, hosts are printable.
std::optional<WorldMessage> from_datagram(std::string_view bytes, const RunKey& key, int world_size);

}  // namespace weft
