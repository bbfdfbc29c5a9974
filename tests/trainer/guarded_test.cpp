// SPDX-License-Identifier: Apache-2.0
// Whole runs on a device whose memory the host cannot touch: they use only what a GPU provides.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/transfer.h"
#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/support/guarded_context.h"
#include "tests/trainer/fixture/covering_layouts.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

TEST(GuardedDevice, HoldsWhatWasUploadedAndRefusesTheHost) {
  const auto context = guarded_context();
  const std::vector<float> numbers = {1, 2, 3};
  const Tensor t = to_device(*context, std::span<const float>(numbers));
  std::vector<float> back(3);
  download(*context, t, std::span<float>(back));
  EXPECT_EQ(back, numbers);
  EXPECT_EQ(error_of([&] { t.data<float>(); }),
            "tensor f32[3] is not in the host's memory: download it before reading it");
  EXPECT_EQ(error_of([&] { t.raw(); }), "tensor f32[3] is not in the host's memory: download it before reading it");
}

TEST(GuardedDevice, AReadPastTheTensorsAddressEndsTheProgram) {
  const auto context = guarded_context();
  const Tensor t = context->zeros({3}, DType::F32);
  EXPECT_DEATH({ [[maybe_unused]] volatile float x = *static_cast<const float*>(t.place()); }, "");
}

TEST(GuardedDevice, NewMemoryHoldsNoNumbers) {
  const auto context = guarded_context();
  std::vector<float> values(100);
  download(*context, context->empty({100}, DType::F32), std::span<float>(values));
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[99]));
}

std::vector<LayoutRun> train(const Cell& cell, bool guarded) {
  LayoutCase brief = cell.what;
  brief.steps = 3;
  std::vector<LayoutRun> runs(static_cast<size_t>(cell.layout.dp * cell.layout.tp));
  run_in_process({.dp = cell.layout.dp, .tp = cell.layout.tp}, [&](Mesh& mesh, int rank) {
    const auto context = test_context(guarded);
    runs[rank] = test::train(brief, cell.layout, mesh, *context);
  });
  return runs;
}

class GuardedSteps : public testing::TestWithParam<Cell> {};

// The bits are the same, and every rank reads its device once a step: loss, nll and norm together.
TEST_P(GuardedSteps, EqualThePlainDevicesAndReadOnceAStep) {
  const auto plain = train(GetParam(), false), guarded = train(GetParam(), true);
  for (size_t rank = 0; rank < plain.size(); ++rank) {
    EXPECT_EQ(guarded[rank].losses, plain[rank].losses) << rank;
    EXPECT_EQ(guarded[rank].norms, plain[rank].norms) << rank;
    EXPECT_EQ(guarded[rank].values, plain[rank].values) << rank;
    EXPECT_EQ(guarded[rank].downloads, 3) << rank;
  }
}

std::vector<Cell> cells() {
  std::vector<Cell> all = covering();
  for (const bool seq2seq : {false, true}) {
    const std::string model = seq2seq ? "Seq2Seq" : "Gpt";
    all.push_back({model, {.seq2seq = seq2seq}, {}});
    all.push_back({model, {.seq2seq = seq2seq}, {.recompute = Recompute::Block, .micro_rows = 40}});
    all.push_back({model + "Bf16", {.seq2seq = seq2seq, .precision = Precision::Bf16}, {}});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Covering, GuardedSteps, testing::ValuesIn(cells()), cell_name);

// A run with evaluations and saves by a thread that is broken off and resumed ends with the weights of an unbroken run.
TEST(GuardedRun, SavesResumesAndEvaluatesAsThePlainDeviceDoes) {
  const Scratch scratch;
  SmallRun plain(scratch, "plain"), guarded(scratch, "guarded", SmallRun::sample_text());
  for (SmallRun* run : {&plain, &guarded}) run->job().evaluation.every_steps = 2;
  const TrainResult expected = plain.train();
  struct BrokenOff {};
  EXPECT_THROW(
      {
        const auto context = guarded_context();
        guarded.train_on(*context, {}, {}, [](int64_t step) {
          if (step == 5) throw BrokenOff();
        });
      },
      BrokenOff);
  ASSERT_TRUE(fs::exists(guarded.checkpoint(3)));
  const auto context = guarded_context();
  const TrainResult result = guarded.train_on(*context);
  EXPECT_EQ(result.best_loss, expected.best_loss);
  EXPECT_EQ(tensor_hashes(guarded.checkpoint(8)), tensor_hashes(plain.checkpoint(8)));
}

}  // namespace
}  // namespace weft
