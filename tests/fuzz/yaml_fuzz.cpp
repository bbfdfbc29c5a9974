// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/yaml_fuzz.h"

#include "base/config/reader.h"
#include "base/config/writer.h"
#include "base/error.h"
#include "job/job.h"

namespace weft::test {

bool reads_yaml(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  JobConfig job;
  try {
    job = parse_config<JobConfig>(text, "job.yaml");
  } catch (const ConfigError&) {
    return false;
  }
  const std::string written = to_yaml(job);
  const std::string again = to_yaml(parse_config<JobConfig>(written, "written.yaml"));
  require<InternalError>(again == written, "a job is not read as it is written");
  job_problems(job);
  return true;
}

}  // namespace weft::test
