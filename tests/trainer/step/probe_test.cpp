// SPDX-License-Identifier: Apache-2.0
// The largest step is tried before the first one, so that a run without the memory for it says so at once.
#include <gmock/gmock.h>

#include <new>

#include "job/vocabularies.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/step/training_setup.h"

namespace weft {
namespace {

// The sequences of a step that no memory is left for.
struct TooLarge : SequenceReader {
  std::function<void()> lack;
  explicit TooLarge(std::function<void()> throws) : lack(std::move(throws)) {}
  void read(const PlannedSequence&, std::span<int32_t>, std::span<int32_t>) const override { lack(); }
};

TEST(ProbeLargestStep, SaysHowToNeedLessWhereTheMemoryIsTooSmall) {
  const test::Scratch scratch;
  test::SmallRun run(scratch);
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  TrainingData data = open_training_data(run.job(), mesh.world());
  TrainingSetup setup(context, mesh, run.job(), vocabularies_of(data.train->header()));
  setup.parameters().initialise(1);
  const std::vector<std::function<void()>> lacks = {[] { throw std::bad_alloc(); },
                                                    [] { throw MemoryError("no bytes left"); }};
  for (const auto& lack : lacks) {
    const auto reader = std::exchange(data.reader, std::make_shared<TooLarge>(lack));
    const std::string error = test::error_of<ConfigError>([&] { probe_largest_step(setup, data, run.job(), 0); });
    data.reader = reader;
    EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("rank 0: there is not enough memory for the largest step"),
                                      testing::HasSubstr("lower batch.micro_batch_tokens")));
  }
  probe_largest_step(setup, data, run.job(), 0);
}

}  // namespace
}  // namespace weft
