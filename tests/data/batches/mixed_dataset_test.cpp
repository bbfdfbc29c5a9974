// SPDX-License-Identifier: Apache-2.0
// Several prepared directories as one dataset: its contents, the refusals, and the sequences that ranks read from it.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "data/batches/loader.h"
#include "data/batches/mixture.h"
#include "data/batches/mixture_report.h"
#include "data/dataset/dataset.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

Ids range(int32_t first, int32_t count) {
  Ids ids;
  for (int32_t i = first; i < first + count; ++i) ids.push_back(i);
  return ids;
}

struct MixedDataset : testing::Test {
  DatasetBuilder builder(const std::string& name) const {
    fs::create_directories(scratch / name);
    return {.directory = scratch / name, .vocabulary = 1000, .shard_tokens = 30};
  }
  DatasetSource source(const std::string& name, double weight = 1) const { return {scratch / name, weight}; }
  std::string refusal(DataSplit split = DataSplit::Train) const {
    return error_of([&] { Dataset::open({source("a"), source("b")}, split); });
  }
  const Scratch scratch;
};

TEST_F(MixedDataset, HoldsWhatItsDirectoriesHoldOneAfterTheOther) {
  builder("a").stream({range(0, 40), range(40, 25)});
  builder("b").stream({range(100, 50)});
  builder("b").stream({range(200, 10)}, DataSplit::Valid);
  const std::vector<DatasetSource> sources = {source("a", 3), source("b")};
  const Dataset train = Dataset::open(sources, DataSplit::Train);
  EXPECT_EQ(train.num_tokens(), 115);
  EXPECT_EQ(train.header().num_documents, 3);
  Ids ids(115), expected = range(0, 65);
  train.read_tokens(0, ids);
  for (const int32_t id : range(100, 50)) expected.push_back(id);
  EXPECT_EQ(ids, expected);
  EXPECT_EQ(train.document_begin(1), 40);
  EXPECT_EQ(train.document_begin(2), 65);
  ASSERT_EQ(train.parts().size(), 2u);
  EXPECT_EQ(train.parts()[0].weight, 3);
  EXPECT_EQ(train.parts()[1].first_token, 65);
  EXPECT_EQ(train.parts()[1].num_tokens, 50);
  EXPECT_EQ(train.parts()[1].content, Dataset::open(scratch / "b", DataSplit::Train).parts()[0].content);
  // A split consists of the directories that have it.
  EXPECT_TRUE(Dataset::has_split(sources, DataSplit::Valid));
  EXPECT_FALSE(Dataset::has_split(sources, DataSplit::Test));
  EXPECT_EQ(Dataset::open(sources, DataSplit::Valid).num_tokens(), 10);
}

TEST_F(MixedDataset, PairsKeepTheirRows) {
  builder("a").pairs({{{5}, {1, 6, 2}}, {{7, 8}, {1, 2}}});
  builder("b").pairs({{{9, 9, 9}, {1, 10, 11, 2}}});
  const Dataset train = Dataset::open({source("a"), source("b")}, DataSplit::Train);
  ASSERT_EQ(train.num_pairs(), 3);
  Ids source(3), target(4);
  train.read_source(2, source), train.read_target(2, target);
  EXPECT_EQ(source, (Ids{9, 9, 9}));
  EXPECT_EQ(target, (Ids{1, 10, 11, 2}));
}

TEST_F(MixedDataset, OtherDatasetsAreRefusedByName) {
  builder("a").stream({range(0, 40)});
  builder("b").pairs({{{5}, {1, 6, 2}}});
  EXPECT_THAT(refusal(), AllOf(HasSubstr((scratch / "a").string()), HasSubstr((scratch / "b").string()),
                               HasSubstr("they differ in kind, stream or pairs")));
  DatasetBuilder other = builder("b");
  fs::remove(scratch / "b/dataset.json");
  other.tokenizer_hash = 0x77;
  other.stream({range(0, 40)});
  EXPECT_THAT(refusal(), AllOf(HasSubstr((scratch / "a").string()), HasSubstr((scratch / "b").string()),
                               HasSubstr("they differ in tokenizer (its hash), 0000000000001234 or 0000000000000077")));
  fs::remove(scratch / "b/dataset.json");
  builder("b").stream({range(0, 40)}, DataSplit::Valid);
  EXPECT_THAT(refusal(), HasSubstr((scratch / "b").string() + " has no split \"train\", only: valid"));
  EXPECT_THAT(refusal(DataSplit::Test), AllOf(HasSubstr((scratch / "a").string() + ", " + (scratch / "b").string()),
                                              HasSubstr("has no split \"test\", only: train, valid")));
  EXPECT_THAT(error_of([&] {
                Dataset::open({source("a"), source("a/../a/")}, DataSplit::Train);
              }),
              HasSubstr("is mixed with itself"));
  EXPECT_THAT(error_of([&] {
                Dataset::open({source("a"), source("b", -1)}, DataSplit::Train);
              }),
              HasSubstr("b is -1; it must be above 0"));
}

// Sources that begin or end in different ways would train one model on two conventions.
TEST_F(MixedDataset, SourceSequencesOfAnotherConventionAreRefused) {
  for (const char* name : {"a", "b"}) {
    builder(name).pairs({{{5}, {1, 6, 2}}});
    Manifest manifest = read_manifest(scratch / name);
    manifest.settings["data.source_eos"] = *name == 'a' ? "true" : "false";
    write_file_atomically(scratch / name / kManifestName, manifest_text(manifest));
  }
  EXPECT_THAT(refusal(), HasSubstr("they differ in data.source_eos, true or false"));
}

// A mixture of 2 : 1 from two streams of 400 and 300 tokens.
struct MixedSteps : MixedDataset {
  MixedSteps() {
    builder("a").stream({range(0, 400)});
    builder("b").stream({range(500, 300)});
    dataset = std::make_shared<const Dataset>(Dataset::open({source("a", 2), source("b", 1)}, DataSplit::Train));
    plan = make_batch_plan({.sequences = 6, .context_length = 10}, *dataset, 3);
  }
  // The first tokens of the sequences of each step from `start` on, by sequence id, from all ranks.
  std::map<std::pair<int64_t, int64_t>, std::map<int64_t, int32_t>> read(int64_t dp, Position start) const {
    std::map<std::pair<int64_t, int64_t>, std::map<int64_t, int32_t>> steps;
    for (int64_t rank = 0; rank < dp; ++rank) {
      Loader loader({.plan = plan,
                     .reader = make_reader(dataset),
                     .dp_rank = rank,
                     .dp_size = dp,
                     .micro_batch_tokens = 30,
                     .start = start,
                     .end_epoch = 3});
      while (const auto step = loader.next()) {
        auto& firsts = steps[{step->epoch, step->step_in_epoch}];
        for (const MicroBatch& micro : step->micro) {
          for (int64_t s = 0; s < micro.sequences(); ++s) {
            firsts[micro.sequence_ids[s]] = micro.input.tokens[micro.input.offsets[s]];
          }
        }
      }
    }
    return steps;
  }
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const BatchPlan> plan;
};

TEST_F(MixedSteps, AreTheSameOnAnyLayoutAndFromAnyPosition) {
  const auto all = read(1, {});
  ASSERT_EQ(all.size(), static_cast<size_t>(3 * plan->steps_per_epoch(0)));
  EXPECT_EQ(read(2, {}), all);
  EXPECT_EQ(read(3, {}), all);
  const Position middle{1, plan->steps_per_epoch(1) / 2};
  auto rest = all;
  rest.erase(rest.begin(), rest.find({middle.epoch, middle.step}));
  EXPECT_EQ(read(2, middle), rest);
}

TEST_F(MixedSteps, TakeTwoWindowsOfTheOneForEachOfTheOther) {
  for (const auto& [position, firsts] : read(2, {})) {
    if (firsts.size() < 6) continue;  // the last step of an epoch
    const auto of_b = std::ranges::count_if(firsts, [](const auto& first) { return first.second >= 500; });
    EXPECT_NEAR(of_b, 2, 1) << position.first << " " << position.second;
  }
}

TEST_F(MixedSteps, AreReportedForEachSource) {
  const Position end{2, 0};
  const auto reports = source_reports(*dataset, *plan, end);
  ASSERT_EQ(reports.size(), 2u);
  // Windows of 10 tokens, one fewer than fit because they are shifted: 39 and 29, so 68 an epoch.
  EXPECT_EQ(reports[0].records, 39);
  EXPECT_EQ(reports[1].records, 29);
  EXPECT_EQ(reports[0].records_an_epoch, 45);
  EXPECT_EQ(reports[1].records_an_epoch, 23);
  EXPECT_NEAR(reports[0].share, 2.0 / 3, 0.01);
  EXPECT_DOUBLE_EQ(reports[0].epochs, 2 * 45 / 39.0);
  EXPECT_DOUBLE_EQ(reports[1].epochs, 2 * 23 / 29.0);
  const double tokens = 400 * 45 / 39.0 + 300 * 23 / 29.0;
  EXPECT_DOUBLE_EQ(reports[1].tokens_until_again, tokens * 29 / 23.0);
  // The report must agree with the number of windows of b that were read.
  int64_t of_b = 0;
  for (const auto& [position, firsts] : read(1, {})) {
    if (position.first >= end.epoch) continue;
    of_b += std::ranges::count_if(firsts, [](const auto& first) { return first.second >= 500; });
  }
  EXPECT_DOUBLE_EQ(reports[1].epochs, static_cast<double>(of_b) / 29);
  const std::string table = describe_sources(reports, DatasetKind::Stream);
  EXPECT_THAT(table, AllOf(HasSubstr((scratch / "b").string()), HasSubstr("windows"), HasSubstr("33.82 %")));
  EXPECT_THAT(describe_epochs(reports), HasSubstr((scratch / "a").string() + " 2.31, "));
  // A single dataset has no mixture to report.
  const Dataset alone = Dataset::open(scratch / "a", DataSplit::Train);
  EXPECT_TRUE(source_reports(alone, *make_batch_plan({.sequences = 6, .context_length = 10}, alone, 3)).empty());
}

}  // namespace
}  // namespace weft
