// SPDX-License-Identifier: Apache-2.0
// A job against the dataset that was prepared with it.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "data/prepare/prepare.h"
#include "job/dataset_checks.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

struct PreparedAs : testing::Test {
  void SetUp() override {
    path = scratch.write("job.yaml", yaml("source_bos: true"));
    const JobConfig job = load_job(path);
    prepare(job.text());
  }
  std::string yaml(const std::string& bos) const {
    return "task: translation\nname: t\ndata:\n  directory: " + (scratch / "data").string() +
           "\n  format: tsv\n  train: {files: [" + scratch.write("a.tsv", "a\tb\nb\ta\n") + "]}\n  " + bos +
           "\ntokenizer: {kind: chars, specials: [<s>, </s>], bos: <s>, eos: </s>}\n"
           "model: {encoder_layers: 1, layers: 1, width: 16, heads: 2, max_length: 12}\n"
           "batch: {sequences: 2}\ntrain: {max_steps: 2}\n";
  }
  std::string said(const std::vector<std::string>& overrides = {}) const {
    return error_of([&] { check_prepared_as(load_job(path, overrides), path, overrides); });
  }

  Scratch scratch;
  std::string path;
};

TEST_F(PreparedAs, AnEqualJobIsAccepted) {
  EXPECT_NO_THROW(check_prepared_as(load_job(path), path, {}));
  const std::vector<std::string> others = {"train.max_steps=9", "data.shard_tokens=77", "data.weight=2",
                                           "data.mixture=[{directory: more}]"};
  EXPECT_NO_THROW(check_prepared_as(load_job(path, others), path, others)) << "what changes no row";
}

TEST_F(PreparedAs, ADifferentJobIsRefusedWithThePlaceOfTheKey) {
  scratch.write("job.yaml", yaml("source_bos: false"));
  EXPECT_THAT(said(), AllOf(HasSubstr("job.yaml:7:3: data.source_bos: "),
                            HasSubstr("data.source_bos was \"true\" and is now \"false\"")));
}

TEST_F(PreparedAs, AnOverrideIsNamed) {
  EXPECT_THAT(said({"data.max_source_tokens=9"}),
              AllOf(HasSubstr("--set data.max_source_tokens=9"), HasSubstr("was \"0\" and is now \"9\"")));
}

}  // namespace
}  // namespace weft
