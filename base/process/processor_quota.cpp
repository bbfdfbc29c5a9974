// SPDX-License-Identifier: Apache-2.0
#include "base/process/processor_quota.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace weft {
namespace {

// A quota and its period in microseconds as processors; nullopt if the numbers are no limit ("max", -1).
std::optional<double> ratio(std::istream& quota, std::istream& period) {
  double time = 0, of = 0;
  if (!(quota >> time) || !(period >> of) || time <= 0 || of <= 0) return std::nullopt;
  return time / of;
}

std::optional<double> limit_of(const fs::path& group) {
  if (std::ifstream both(group / "cpu.max"); both) return ratio(both, both);
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return ratio(quota, period);
}

uint64_t id_of(const fs::path& group) {
  struct stat status {};
  return stat(group.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Narrows `quota` by the group `path` of a hierarchy, and by those that it lies in. A container may not see its own
// group under the name that the kernel tells; then the hierarchy's root is its group.
void narrow(ProcessorQuota& quota, const fs::path& hierarchy, const std::string& path) {
  for (fs::path inner = fs::path(path).relative_path();; inner = inner.parent_path()) {
    const fs::path group = hierarchy / inner;
    if (const auto limit = limit_of(group); limit && *limit < quota.processors) {
      quota = {.processors = *limit, .group = id_of(group)};
    }
    if (inner.empty()) return;
  }
}

}  // namespace

ProcessorQuota processor_quota(const fs::path& root) {
  ProcessorQuota quota;
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  // Each line is "number:controllers:path"; version 2 has number 0 and names no controllers.
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number, controllers, path, controller;
    if (!std::getline(parts, number, ':') || !std::getline(parts, controllers, ':') || !std::getline(parts, path)) {
      continue;
    }
    if (number == "0" && controllers.empty()) {
      narrow(quota, mounts, path);
      narrow(quota, mounts / "unified", path);  // where both versions are in use
    }
    std::istringstream list(controllers);
    while (std::getline(list, controller, ',')) {
      if (controller == "cpu") narrow(quota, mounts / controllers, path), narrow(quota, mounts / "cpu", path);
    }
  }
  return quota;
}

int threads_within(std::span<const ProcessorQuota> quotas, size_t me) {
  const ProcessorQuota& mine = quotas[me];
  if (!mine.limited()) return std::numeric_limits<int>::max();
  const auto sharing = std::ranges::count_if(
      quotas, [&](const ProcessorQuota& other) { return other.limited() && other.group == mine.group; });
  // 0.30000000000000004 tenths of a second are three of them.
  const double part = std::ceil(mine.processors / static_cast<double>(sharing) - 1e-6);
  return static_cast<int>(std::clamp(part, 1.0, 1e6));
}

}  // namespace weft
