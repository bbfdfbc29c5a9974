// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/run_file.h"

#include "base/error.h"
#include "base/json.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

fs::path run_file(const fs::path& run_directory) { return run_directory / "run.json"; }

Json read_run_file(const fs::path& run_directory) {
  const fs::path path = run_file(run_directory);
  if (!fs::exists(path)) return Json::object();
  Json file = parse_json<Json>(read_file(path), path.string());
  require<DataError>(file.is_object(), "{} is not the file of a run", path.string());
  return file;
}

void write(const fs::path& run_directory, const Json& file) {
  write_file_atomically(run_file(run_directory), file.dump(2) + "\n");
}

}  // namespace

std::optional<LastSave> last_save(const fs::path& run_directory) {
  const Json file = read_run_file(run_directory);
  const auto saved = file.find("saved");
  if (saved == file.end() || saved->is_null()) return {};
  try {
    return LastSave{.step = integer_from<int64_t>(saved->at("step")),
                    .sequence = integer_from<int64_t>(saved->at("sequence"))};
  } catch (const std::exception& error) {
    throw DataError(fmt::format("{}: saved: {}", run_file(run_directory).string(), error.what()),
                    "it names the last checkpoint of the run: restore it from a copy, or remove it");
  }
}

void write_run_file(const fs::path& run_directory, const std::string& run, int64_t attempt, const Json& provenance) {
  const Json before = read_run_file(run_directory);
  Json file = {{"run", run}, {"attempt", attempt}};
  if (const auto saved = before.find("saved"); saved != before.end()) file["saved"] = *saved;
  file["provenance"] = provenance;
  write(run_directory, file);
}

void note_last_save(const fs::path& run_directory, const std::optional<LastSave>& save) {
  Json file = read_run_file(run_directory);
  file.erase("saved");
  if (save) file["saved"] = {{"step", save->step}, {"sequence", save->sequence}};
  write(run_directory, file);
}

}  // namespace weft
