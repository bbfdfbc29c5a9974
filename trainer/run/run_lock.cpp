// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/run_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

fs::path lock_path(const fs::path& directory) { return directory / "run.lock"; }

// Returns the directories that it made, outermost first.
std::vector<fs::path> make_directories(const fs::path& directory) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = directory; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.insert(missing.begin(), at);
  }
  fs::create_directories(directory, error);
  if (error) {
    throw DataError(fmt::format("create {}: {}", directory.string(), error.message()),
                    "set run_dir to a directory that can be written");
  }
  for (const fs::path& made : missing) sync_directory(made.parent_path());
  return missing;
}

void remove_if_empty(const std::vector<fs::path>& made) {
  std::error_code ignored;
  for (auto at = made.rbegin(); at != made.rend(); ++at) fs::remove(*at, ignored);
}

// Locks the whole file for this open file description; false if another one holds the lock.
bool lock(const File& file) {
  struct flock whole {};
  whole.l_type = F_WRLCK, whole.l_whence = SEEK_SET;
  if (fcntl(file.descriptor(), F_OFD_SETLK, &whole) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  log_warning("{} cannot be locked ({}): nothing stops a second run from using this directory", file.path().string(),
              std::strerror(errno));
  return true;
}

// The previous owner may have removed the file after it was opened here; then another run may hold a new one.
bool is_still_there(const File& file) { return has_name(file.descriptor(), file.path()); }

}  // namespace

RunOwner RunOwner::this_process(int64_t attempt) {
  const char* job = std::getenv("SLURM_JOB_ID");
  return {.host = host_name(),
          .pid = getpid(),
          .job = job ? job : "",
          .attempt = attempt,
          .since = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))};
}

std::unique_ptr<RunLock> RunLock::try_take(const fs::path& directory) {
  const std::vector<fs::path> made = make_directories(directory);
  for (;;) {
    auto file = std::make_unique<File>(lock_path(directory), File::Mode::ReadWrite);
    if (!lock(*file)) return nullptr;
    if (!is_still_there(*file)) continue;
    return std::unique_ptr<RunLock>(new RunLock(lock_path(directory), std::move(file), made));
  }
}

RunLock::~RunLock() {
  std::error_code ignored;
  if (is_ours()) fs::remove(path_, ignored);  // while it is locked: once unlocked, the path may be another owner's
  file_.reset();
  remove_if_empty(made_);
}

bool RunLock::is_ours() const { return is_still_there(*file_); }

void RunLock::write(const RunOwner& owner) {
  const Json text = {
      {"host", owner.host}, {"pid", owner.pid}, {"job", owner.job}, {"attempt", owner.attempt}, {"since", owner.since}};
  try {
    file_->resize(0);
    file_->append(text.dump() + "\n");
  } catch (const std::exception& error) {
    log_warning("{}: {}", path_.string(), error.what());
  }
}

bool is_owned(const fs::path& directory) {
  try {
    const File file(lock_path(directory), File::Mode::Read);
    struct flock whole {};
    whole.l_type = F_RDLCK, whole.l_whence = SEEK_SET;  // the owner's lock excludes it
    return fcntl(file.descriptor(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  } catch (const DataError&) {
    return false;
  }
}

std::string describe_owner(const fs::path& directory) {
  try {
    const fs::path path = lock_path(directory);
    const auto owner = parse_json<Json>(read_file(path), path.string());
    const auto job = owner.at("job").get<std::string>();
    return fmt::format("attempt {}, process {} on {}{}, since {}", owner.at("attempt").get<int64_t>(),
                       owner.at("pid").get<int64_t>(), owner.at("host").get<std::string>(),
                       job.empty() ? "" : ", job " + job, owner.at("since").get<std::string>());
  } catch (const std::exception&) {
    return "a process that has not written its name yet";
  }
}

}  // namespace weft
