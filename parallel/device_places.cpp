// SPDX-License-Identifier: Apache-2.0
#include "parallel/device_places.h"

#include <map>
#include <set>

#include "base/error.h"

namespace weft {
namespace {

const std::string& device_of(std::span<const SeenDevices> ranks, std::span<const int> taken, size_t rank) {
  return ranks[rank].devices.at(static_cast<size_t>(taken[rank]));
}

}  // namespace

std::vector<int> divide_devices(std::span<const SeenDevices> ranks, SharedDevices shared) {
  std::map<std::vector<std::string>, size_t> turns;
  std::set<std::string> used;
  std::vector<int> taken;
  bool twice = false;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<std::string>& seen = ranks[rank].devices;
    require<ConfigError>(!seen.empty(), "device: cuda, but rank {} on {} sees no CUDA device", rank, ranks[rank].host);
    const size_t turn = turns[seen]++ % seen.size();
    taken.push_back(static_cast<int>(turn));
    twice = !used.insert(seen[turn]).second || twice;
  }
  if (twice && shared == SharedDevices::Refused) {
    throw ConfigError("several ranks would compute on one CUDA device\n" + device_map(ranks, taken),
                      "start as many ranks on a machine as it has devices (mpirun --map-by ppr:N:node, srun "
                      "--ntasks-per-node=N), and let each see its own or all of them; parallel.share_device: true lets "
                      "ranks share devices, to try a layout out");
  }
  return taken;
}

bool shares_device(std::span<const SeenDevices> ranks, std::span<const int> taken, size_t rank) {
  for (size_t other = 0; other < ranks.size(); ++other) {
    if (other != rank && device_of(ranks, taken, other) == device_of(ranks, taken, rank)) return true;
  }
  return false;
}

std::string device_map(std::span<const SeenDevices> ranks, std::span<const int> taken) {
  std::map<std::string, std::string> hosts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string& line = hosts[ranks[rank].host];
    line += fmt::format("{} rank {} {}", line.empty() ? "" : ",", rank, device_of(ranks, taken, rank));
  }
  std::string text;
  for (const auto& [host, line] : hosts) text += fmt::format("{}{}:{}", text.empty() ? "" : "\n", host, line);
  return text;
}

}  // namespace weft
