// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/restarts.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

struct Restarts {
  int64_t step = -1;  // the step at which the last start began
  int64_t count = 0;  // restarts in a row at that step
};

// If the file cannot be read, counting starts again from 0.
Restarts read_restarts(const fs::path& path) {
  if (!fs::exists(path)) return {};
  const std::string text = read_file(path);
  try {
    const auto json = parse_json<Json>(text, path.string());
    const Restarts read{.step = integer_from<int64_t>(json.at("step")),
                        .count = integer_from<int64_t>(json.at("restarts"))};
    if (read.step >= 0 && read.count >= 0) return read;
  } catch (const std::exception&) {
  }
  return {};
}

}  // namespace

void count_restart(const fs::path& directory, int64_t step, bool told, int64_t most) {
  if (most == 0) return;
  const fs::path path = directory / "restarts.json";
  Restarts restarts = read_restarts(path);
  const bool progress = told ? step != restarts.step : step > restarts.step;
  restarts.count = progress ? 0 : restarts.count + 1;
  restarts.step = told ? step : std::max(restarts.step, step);
  if (restarts.count > most) {
    throw NoProgressError(
        fmt::format("{}: {} restarts in a row saved no checkpoint later than step {}, as many as "
                    "train.max_restarts allows",
                    directory.string(), most, restarts.step),
        fmt::format("find out what ends the run (its log; metrics.jsonl says how far it came); then remove {} and "
                    "start it again",
                    path.string()));
  }
  const Json json = {{"step", restarts.step}, {"restarts", restarts.count}};
  write_file_atomically(path, json.dump() + "\n");
}

}  // namespace weft
