// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/yaml_fuzz.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "base/files.h"
#include "job/job.h"
#include "job/migration.h"
#include "tests/fuzz/text_of.h"
#include "tests/support/folder.h"

namespace weft::test {
namespace {

template <class Read>
bool reads_job(Read&& read) {
  JobConfig job;
  try {
    job = read();
  } catch (const ConfigError&) {
    return false;
  }
  const std::string written = to_yaml(job);
  const std::string again = to_yaml(parse_config<JobConfig>(written, "written.yaml"));
  require<InternalError>(again == written, "a job is not read as it is written");
  job_problems(job);
  return true;
}

}  // namespace

bool reads_yaml(std::span<const uint8_t> bytes) {
  return reads_job([&] { return parse_config<JobConfig>(text_of(bytes), "job.yaml"); });
}

bool reads_overrides(std::span<const uint8_t> bytes) {
  std::string_view text = text_of(bytes);
  std::vector<std::string> overrides;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) break;
    overrides.emplace_back(line);
  }
  return reads_job([&] { return parse_config<JobConfig>(text, "job.yaml", overrides); });
}

bool reads_extends(std::span<const uint8_t> bytes) {
  const Folder folder(fs::temp_directory_path(), "weft_extends");
  write_parts(bytes, folder.path(), {"0.yaml", "1.yaml", "2.yaml", "3.yaml", "4.yaml", "5.yaml", "6.yaml", "7.yaml"});
  return reads_job([&] { return read_config<JobConfig>((folder.path() / "0.yaml").string()); });
}

bool reads_stored_job(std::span<const uint8_t> bytes) {
  return reads_job([&] { return parse_stored_job(std::string(text_of(bytes)), "manifest.json"); });
}

}  // namespace weft::test
