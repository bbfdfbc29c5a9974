// SPDX-License-Identifier: Apache-2.0
// A change of each key affects on resume what its field declares, or training if the field declares nothing.
#include "job/changes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/enum_table.h"
#include "base/files.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

// tests/job/affects.txt lists every key with what it affects, so that a changed declaration is noticed. With
// WEFT_UPDATE_DOCS in the environment the test writes the list instead.
TEST(Affects, TheListIsWhatTheDeclarationsSay) {
  constexpr EnumTable<Affects, std::string_view> kWords = {
      {Affects::Training, "training"}, {Affects::Evaluation, "evaluation"}, {Affects::Nothing, "nothing"}};
  std::string list;
  for (const ConfigDoc& doc : config_docs<JobConfig>()) {
    const bool leaf = !doc.section && doc.key.find("[]") == std::string::npos;  // a list changes as a whole
    if (leaf) list += fmt::format("{} {}\n", doc.key, kWords[affected_by(doc.key)]);
  }
  const fs::path file = source_dir() / "tests" / "job" / "affects.txt";
  if (std::getenv("WEFT_UPDATE_DOCS")) return write_file_atomically(file, list);
  EXPECT_EQ(read_file(file), list) << "run job_test --gtest_filter=Affects.* with WEFT_UPDATE_DOCS=1";
}

struct Inner {
  int64_t quiet = 0, loud = 0;
  std::vector<int64_t> list;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("quiet", quiet, "Says nothing.");
    v.field("loud", loud, "Says what it affects.", {Range{.min = 0}, Affects::Evaluation});
    v.field("list", list, "Says nothing.", Range{.min = 0});
  }
};

struct Outer {
  int64_t bounded = 0, told = 0;
  Inner plain, harmless;
  std::optional<Inner> optional;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("bounded", bounded, "Says nothing.", Range{.min = 0});
    v.field("told", told, "Says what it affects.", Affects::Nothing);
    v.field("plain", plain, "Says nothing.");
    v.field("harmless", harmless, "Speaks for its fields.", Affects::Nothing);
    v.field("optional", optional, "Speaks for its fields.", Affects::Nothing);
  }
};

TEST(Affects, IsTrainingWhereNeitherFieldNorSectionSays) {
  std::map<Affects, std::vector<std::string>> keys;
  for (const ConfigDoc& doc : config_docs<Outer>()) keys[doc.affects].push_back(doc.key);
  EXPECT_EQ(keys[Affects::Training], (std::vector<std::string>{"bounded", "plain", "plain.quiet", "plain.list"}));
  EXPECT_EQ(keys[Affects::Evaluation], (std::vector<std::string>{"plain.loud", "harmless.loud", "optional.loud"}));
  EXPECT_EQ(keys[Affects::Nothing], (std::vector<std::string>{"told", "harmless", "harmless.quiet", "harmless.list",
                                                              "optional", "optional.quiet", "optional.list"}));
}

TEST(Affects, AKeyThatNoFieldDeclaresIsTakenForOneOfTraining) { EXPECT_TRUE(changes_training("train.of_tomorrow")); }

// Every difference between two jobs is a key of the list: config_changes() gives no other keys.
TEST(Affects, EveryDifferenceOfJobsIsAKeyOfTheList) {
  const std::string list = "\n" + read_file(source_dir() / "tests" / "job" / "affects.txt");
  JobConfig other;
  other.target_tokenizer.emplace();
  other.data.mixture.resize(1), other.optimizer.groups.resize(1);
  for (const ConfigChange& change : tree_changes({.kind = ConfigValue::Kind::Map}, encode_config(other))) {
    if (change.key.empty()) continue;  // the empty tree that the job is compared with
    EXPECT_NE(list.find("\n" + change.key + " "), std::string::npos) << change.key;
  }
}

}  // namespace
}  // namespace weft
