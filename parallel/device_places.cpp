#include "parallel/device_places.h"

#include <map>
#include <set>

#include "base/error.h"

namespace weft {

std::vector<int> divide_devices(std::span<const SeenDevices> ranks) {
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
  if (twice) {
    throw ConfigError("several ranks would compute on one CUDA device\n" + device_map(ranks, taken),
                      "start as many ranks on a machine as it has devices (mpirun --map-by ppr:N:node, srun "
                      "--ntasks-per-node=N), and let each see its own or all of them");
  }
  return taken;
}

std::string device_map(std::span<const SeenDevices> ranks, std::span<const int> taken) {
  std::map<std::string, std::string> hosts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string& line = hosts[ranks[rank].host];
    line += fmt::format("{} rank {} {}", line.empty() ? "" : ",", rank,
                        ranks[rank].devices.at(static_cast<size_t>(taken[rank])));
  }
  std::string text;
  for (const auto& [host, line] : hosts) text += fmt::format("{}{}:{}", text.empty() ? "" : "\n", host, line);
  return text;
}

}  // namespace weft
