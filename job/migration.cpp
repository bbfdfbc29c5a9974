#include "job/migration.h"

#include "base/config/reader.h"

namespace weft {
namespace {

// train.recompute was a switch for whole blocks before it had degrees.
void read_old_recompute(ConfigValue& job) {
  ConfigEntry* train = job.find("train");
  ConfigEntry* recompute = train ? train->value.find("recompute") : nullptr;
  if (!recompute || recompute->value.kind != ConfigValue::Kind::Boolean) return;
  recompute->value.kind = ConfigValue::Kind::Text;
  recompute->value.text = recompute->value.text == "true" ? "block" : "none";
}

}  // namespace

JobConfig parse_stored_job(const std::string& yaml, const std::string& where,
                           const std::vector<std::string>& overrides) {
  ConfigProblems problems;
  ConfigValue job = parse_yaml(yaml, where, Layout::File, problems);
  read_old_recompute(job);
  for (const std::string& override_text : overrides) apply_override(job, override_text, problems);
  return decode_config<JobConfig>(job, std::move(problems));
}

}  // namespace weft
