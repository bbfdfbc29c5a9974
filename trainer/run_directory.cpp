#include "trainer/run_directory.h"

#include <nlohmann/json.hpp>

#include "base/config/writer.h"
#include "base/error.h"
#include "base/log.h"
#include "parallel/agree.h"

namespace weft {

RunDirectory::RunDirectory(fs::path path, Communicator& world)
    : path_(std::move(path)), checkpoints_(path_ / "checkpoints"), world_(world) {}

void RunDirectory::create() {
  agree(world_, [&] {
    std::error_code error;
    fs::create_directories(checkpoints_, error);
    if (!error) return std::string();
    throw DataError(fmt::format("create {}: {}", checkpoints_.string(), error.message()),
                    "set run_dir to a directory that can be written");
  });
}

void RunDirectory::write_run_files(const JobConfig& job, const std::string& run, int64_t attempt,
                                   const nlohmann::ordered_json& provenance) const {
  log_info("the job, where it differs from the defaults (the whole is in {}):", (path_ / "job.yaml").string());
  for (const ConfigChange& change : config_changes(JobConfig{}, job)) log_info("  {}: {}", change.key, change.after);
  write_file_atomically(path_ / "job.yaml", to_yaml(job));
  const nlohmann::ordered_json file = {{"run", run}, {"attempt", attempt}, {"provenance", provenance}};
  write_file_atomically(path_ / "run.json", file.dump(2) + "\n");
}

}  // namespace weft
