#include "trainer/run_directory.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "parallel/agree.h"
#include "trainer/metrics.h"

namespace weft {

RunDirectory::RunDirectory(fs::path path, Communicator& world)
    : path_(std::move(path)), checkpoints_(path_ / "checkpoints"), world_(world) {}

void RunDirectory::take(double wait_seconds) {
  const auto start = std::chrono::steady_clock::now();
  bool logged = false;
  // An empty answer: not yet. Every try is a collective, so that no rank looks as if it hung.
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
  const nlohmann::ordered_json file = {{"run", run}, {"attempt", attempt_}, {"provenance", provenance}};
  write_file_atomically(path_ / "run.json", file.dump(2) + "\n");
}

}  // namespace weft
