// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/run_directory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/locate.h"
#include "parallel/agree.h"
#include "trainer/run/logs/metrics.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

bool reads(const fs::path& file, const std::string& expected) {
  try {
    return read_file(file) == expected;
  } catch (const DataError&) {
    return false;  // the file is not there yet, or this rank does not see it
  }
}

// "rank 3 (node2), rank 7 (node4) and 12 others": the first few of the `count` ranks whose `mine` is not empty.
std::string name_some(Communicator& world, std::string mine, int count) {
  constexpr int kNamed = 4;
  std::string names;
  for (int i = 0; i < std::min(count, kNamed); ++i) {
    const std::string one = first_text(world, mine);
    if (one == mine) mine.clear();
    names += (i == 0 ? "" : ", ") + one;
  }
  return names + (count > kNamed ? fmt::format(" and {} others", count - kNamed) : "");
}

}  // namespace

std::string check_run_directory(const fs::path& path) {
  fs::path existing = fs::absolute(path);
  while (!fs::exists(existing)) existing = existing.parent_path();
  // Permissions prove too little (root, read-only mounts, special file systems): create a directory and remove it.
  const fs::path trial = existing / fmt::format(".weft-validate-{}", ::getpid());
  std::error_code error;
  fs::create_directory(trial, error);
  if (error) {
    throw DataError(fmt::format("run_dir: cannot create anything in {}: {}", existing.string(), error.message()),
                    "set run_dir to another directory");
  }
  fs::remove(trial, error);
  return fmt::format("run directory {}: {:.1f} GiB free", path.string(),
                     static_cast<double>(free_bytes(existing)) / (1 << 30));
}

RunDirectory::RunDirectory(fs::path path, Communicator& world)
    : path_(std::move(path)), checkpoints_(checkpoints_folder(path_)), world_(world) {}

void RunDirectory::take(double wait_seconds) {
  const auto start = std::chrono::steady_clock::now();
  bool logged = false;
  // Returns "" while another run owns the directory. Every try is a collective, so that no rank looks hung.
  const auto try_take = [&]() -> std::string {
    lock_ = RunLock::try_take(path_);
    if (lock_) {
      const int64_t attempt = next_attempt(path_);
      lock_->write(RunOwner::this_process(attempt));
      return std::to_string(attempt);
    }
    const double left = wait_seconds - seconds_since(start);
    const std::string owner = describe_owner(path_);
    if (left <= 0) {
      throw BusyError(
          fmt::format("{} belongs to another run: {}", path_.string(), owner),
          "wait until it has ended, stop it, or give another run_dir; checkpoint.lock_wait_seconds says how "
          "long a run waits for its directory");
    }
    if (!logged) log_info("{} belongs to {}; waiting for it for {}", path_.string(), owner, format_duration(left));
    logged = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 1.0)));
    return "";
  };
  std::string attempt;
  while (attempt.empty()) attempt = agree(world_, try_take);
  attempt_ = std::stoll(attempt);
}

void RunDirectory::require_visible(std::chrono::milliseconds patience) const {
  if (world_.size() == 1) return;
  const fs::path file = path_ / "run.visible";
  const std::string token = agree(world_, [&] {
    std::random_device random;
    const std::string drawn = hash_hex((static_cast<uint64_t>(random()) << 32) | random());
    write_file_atomically(file, drawn);
    return drawn;
  });
  const auto start = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(patience).count();
  bool seen = false;
  int unseen = 0;
  // Every look is a collective, so that no rank looks hung, and ranks end the wait together, by rank 0's clock.
  for (;;) {
    seen = seen || reads(file, token);
    const bool up = world_.rank() == 0 && seconds_since(start) >= seconds;
    std::array<double, 2> found{seen ? 0.0 : 1.0, up ? 1.0 : 0.0};
    world_.all_reduce_host(found, ReduceOp::Sum);
    unseen = static_cast<int>(found[0]);
    if (unseen == 0 || found[1] > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (world_.rank() == 0) {
    std::error_code ignored;
    fs::remove(file, ignored);
  }
  if (unseen == 0) return;
  const std::string names =
      name_some(world_, seen ? "" : fmt::format("rank {} ({})", world_.rank(), host_name()), unseen);
  throw IoError(
      fmt::format("{} is not the same directory for all ranks: what rank 0 writes there is not seen by {} after {}",
                  path_.string(), names, format_duration(seconds)),
      "set run_dir to a directory of a file system that all nodes share; if it is one, the same command tries again");
}

void RunDirectory::require_ours() const {
  agree(world_, [&] {
    if (lock_->is_ours()) return std::string();
    throw DataError(
        fmt::format("{} was renamed or removed while this run used it: nothing more is saved there", path_.string()),
        "rename a run's directory only when the run has ended; its checkpoints are where the directory is now");
  });
}

void RunDirectory::create() {
  agree(world_, [&] {
    try {
      create_directories_durably(checkpoints_);
      return std::string();
    } catch (const DataError& error) {
      throw DataError(error.what(), "set run_dir to a directory that can be written");
    }
  });
}

void RunDirectory::write_run_files(const JobConfig& job, const std::string& run,
                                   const nlohmann::ordered_json& provenance) const {
  log_info("the job, where it differs from the defaults (the whole is in {}):", (path_ / "job.yaml").string());
  for (const ConfigChange& change : config_changes(JobConfig{}, job)) log_info("  {}: {}", change.key, change.after);
  write_file_atomically(path_ / "job.yaml", to_yaml(job));
  write_run_file(path_, run, attempt_, provenance);
}

}  // namespace weft
