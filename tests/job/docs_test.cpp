// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/config/writer.h"
#include "base/files.h"
#include "job/job.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

// docs/configuration.md holds the table of all keys between two marks. If it differs from the declarations, the
// test fails; with WEFT_UPDATE_DOCS in the environment it writes the table instead.
TEST(JobDocs, TableIsWhatTheDeclarationsSay) {
  const fs::path page = source_dir() / "docs" / "configuration.md";
  const std::string begin = "<!-- begin keys -->\n";
  const std::string end = "<!-- end keys -->";
  std::string text = read_file(page);
  const size_t from = text.find(begin);
  const size_t to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const size_t table_from = from + begin.size();
  const std::string table = docs_table(config_docs<JobConfig>());
  if (std::getenv("WEFT_UPDATE_DOCS")) {
    write_file_atomically(page, text.replace(table_from, to - table_from, table));
    return;
  }
  EXPECT_EQ(text.substr(table_from, to - table_from), table)
      << "run job_test --gtest_filter=JobDocs.* with WEFT_UPDATE_DOCS=1";
}

TEST(JobDocs, TheExampleIsAJob) {
  const std::string text = read_file(source_dir() / "docs" / "configuration.md");
  const std::string fence = "```yaml\n";
  const size_t from = text.find(fence) + fence.size();
  const size_t to = text.find("```", from);
  ASSERT_NE(to, std::string::npos);
  const auto job = parse_config<JobConfig>(text.substr(from, to - from), "the example of docs/configuration.md");
  EXPECT_NO_THROW(check_job(job));
  EXPECT_EQ(job.name, "my-first");
}

TEST(JobDocs, EveryFieldHasAMeaningThatIsASentence) {
  for (const ConfigDoc& doc : config_docs<JobConfig>()) {
    EXPECT_FALSE(doc.meaning.empty()) << doc.key;
    EXPECT_EQ(doc.meaning.back(), '.') << doc.key << ": " << doc.meaning;
  }
}

TEST(JobDocs, KeysAreDeclaredOnce) {
  std::vector<std::string> keys = config_keys<JobConfig>();
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

}  // namespace
}  // namespace weft
