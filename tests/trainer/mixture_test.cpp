// SPDX-License-Identifier: Apache-2.0
// A run on two prepared datasets mixed by weight: where it resumes, on which layouts, and what it reports of its
// sources.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/logs/metrics.h"

namespace weft {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

class MixedRun : public testing::Test {
 protected:
  // Mixes three windows of the run's own text with each window of another text.
  void SetUp() override {
    mix(run_, "more", "other.txt", reversed());
    run_.job().data.weight = 3;
  }
  static std::string reversed() {
    std::string text = SmallRun::sample_text();
    std::ranges::reverse(text);  // the characters stay the same
    return text.substr(0, 400);
  }
  // Prepares `text` with the run's tokenizer, and mixes it in.
  void mix(SmallRun& run, const std::string& directory, const std::string& file, const std::string& text) {
    JobConfig other = run.job();
    other.data.directory = (scratch_ / directory).string();
    other.data.train.files = {scratch_.write(file, text)};
    other.data.tokenizer_file = run.job().data.directory + "/tokenizer.json";
    prepare({other.data, other.tokenizer});
    run.job().data.mixture = {{.directory = other.data.directory, .weight = 1}};
  }
  // A directory that holds only the run's checkpoint of step 3.
  void begin_at_step_3() {
    run_.train();
    const fs::path from = run_.checkpoint(3);
    run_.job().run_dir = (scratch_ / "stopped").string();
    fs::create_directories(run_.directory() / "checkpoints");
    fs::copy(from, run_.checkpoint(3), fs::copy_options::recursive);
  }
  std::string refusal() {
    return error_of([&] { run_.train(); });
  }

  Scratch scratch_;
  SmallRun run_{scratch_};
};

TEST_F(MixedRun, ResumesAsIfItHadNotStopped) {
  run_.train();
  const auto straight = tensor_hashes(run_.checkpoint(8));
  begin_at_step_3();
  run_.train();
  EXPECT_EQ(tensor_hashes(run_.checkpoint(8)), straight);
  run_.job().data.mixture.clear();
  run_.job().run_dir = (scratch_ / "alone").string();
  run_.train();
  EXPECT_NE(tensor_hashes(run_.checkpoint(8)), straight) << "the mixture changed nothing";
}

TEST_F(MixedRun, HasTheSameLossesOnAnyLayout) {
  run_.train();
  const auto losses = [&] {
    std::vector<double> all;
    for (const auto& line : read_metrics(run_.directory(), "train")) all.push_back(line["loss"].get<double>());
    return all;
  };
  const std::vector<double> alone = losses();
  ASSERT_EQ(alone.size(), 8u);
  for (const MeshLayout layout : {MeshLayout{.dp = 2}, MeshLayout{.tp = 2}, MeshLayout{.dp = 3}}) {
    run_.job().run_dir = (scratch_ / fmt::format("on-{}x{}", layout.dp, layout.tp)).string();
    run_.job().parallel.tp = layout.tp;
    run_in_process(layout, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      Trainer(context, mesh, run_.job()).run({});
    });
    const std::vector<double> here = losses();
    ASSERT_EQ(here.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(here[i], alone[i], 1e-4 * alone[i]) << "step " << i + 1;
  }
}

TEST_F(MixedRun, ReportsTheEpochsOfEachDataset) {
  run_.job().evaluation.every_steps = 4;
  testing::internal::CaptureStderr();
  run_.train();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("windows of 8 of 2 datasets mixed by weight"), HasSubstr("again after tokens"),
                          HasSubstr("step 4: epochs of what is mixed: "), HasSubstr("/more 0.")));
  const auto events = read_metrics(run_.directory(), "sources");
  ASSERT_EQ(events.size(), 2u);
  const auto& sources = events[1]["sources"];
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0]["directory"], run_.job().data.directory);
  EXPECT_EQ(sources[1]["weight"], 1.0);
  EXPECT_NEAR(sources[1]["share"].get<double>(), 0.25, 0.01);
  // The run takes eight steps of 4 windows, a quarter of them from (350 - 8) / 8 = 42 windows.
  EXPECT_NEAR(sources[1]["epochs"].get<double>(), 8.0 / 42, 0.01);
  EXPECT_NEAR(events[0]["sources"][1]["epochs"].get<double>(), 4.0 / 42, 0.01);
}

TEST_F(MixedRun, ValidatesOnTheHeldOutTextOfAllDatasets) {
  run_.job().evaluation.every_steps = 8;
  run_.train();
  int64_t held_out = -1;  // all but the first token is predicted
  for (const DatasetSource& source : run_.job().data.sources()) {
    held_out += Dataset::open(source.directory, DataSplit::Valid).num_tokens();
  }
  EXPECT_EQ(read_metrics(run_.directory(), "eval").at(0)["targets"], held_out);
}

TEST_F(MixedRun, OtherWeightsAreRefusedUnlessAllowed) {
  begin_at_step_3();
  run_.job().data.mixture[0].weight = 2;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("data.mixture: ["), HasSubstr("weight: 1}] -> ["), HasSubstr("weight: 2}]"),
                               HasSubstr("allow_changes=[data.mixture]")));
  run_.job().data.mixture[0].weight = 1, run_.job().data.weight = 4;
  EXPECT_THAT(refusal(), HasSubstr("data.weight: 3 -> 4"));
  EXPECT_FALSE(fs::exists(run_.directory() / "metrics.jsonl"));
  run_.job().allow_changes = {"data.weight"};
  EXPECT_EQ(run_.train().step, 8);
}

TEST_F(MixedRun, ADatasetMayMoveAndItsTextMayNotChange) {
  begin_at_step_3();
  const std::string moved = (scratch_ / "moved").string();
  fs::rename(run_.job().data.mixture[0].directory, moved);
  run_.job().data.mixture[0].directory = moved;
  const JobConfig as_moved = run_.job();
  mix(run_, "changed", "changed.txt", reversed().substr(10));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("/changed holds another training text than the one that"), HasSubstr("/more"),
                               HasSubstr("allow_changes=[data.mixture]")));
  run_.job() = as_moved;
  EXPECT_EQ(run_.train().step, 8);
}

// A shorter epoch need not have the step at which the run stopped.
TEST_F(MixedRun, MayResumeWithoutOneOfItsDatasets) {
  const std::string own = run_.job().data.directory;
  run_.job().data.directory = run_.job().data.mixture[0].directory;
  run_.job().data.mixture[0].directory = own;
  run_.job().batch.sequences = 32;
  begin_at_step_3();
  run_.job().data.mixture.clear();
  EXPECT_THAT(refusal(), HasSubstr("data.mixture: ["));
  run_.job().allow_changes = {"data.mixture"};
  EXPECT_EQ(run_.train().step, 8);
}

}  // namespace
}  // namespace weft
