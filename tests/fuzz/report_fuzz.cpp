// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/report_fuzz.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "pages/history.h"
#include "pages/plots.h"
#include "pages/run_json.h"
#include "pages/text.h"
#include "tests/fuzz/text_of.h"
#include "tests/support/folder.h"

namespace weft::test {

bool reads_report(std::span<const uint8_t> bytes) {
  const Folder folder(fs::temp_directory_path(), "weft_report");
  write_parts(bytes, folder.path(), {"metrics.jsonl", "job.yaml", "run.json"});
  std::vector<RunHistory> histories;
  for (int i = 0; i < 2; ++i) histories.emplace_back(folder.path());
  const nlohmann::ordered_json run = run_json(histories[0], "run", 4);
  plots_of({run});
  require<InternalError>(job_differences(histories).empty(), "a job differs from itself");
  const std::string block = json_block("run", run);
  const std::string inside = block.substr(block.find('>') + 1, block.rfind('<') - block.find('>') - 1);
  require<InternalError>(inside.find_first_of("<>&") == std::string::npos, "markup in a page");
  return !histories[0].train().steps().empty();
}

}  // namespace weft::test
