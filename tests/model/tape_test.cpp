// SPDX-License-Identifier: Apache-2.0
#include "model/tape.h"

#include <gtest/gtest.h>

#include "kernels/context.h"
#include "parallel/local/in_process.h"

namespace weft {
namespace {

Tensor scalar(Context& context, float value) {
  const Tensor t = context.empty({1}, DType::F32);
  t.data<float>()[0] = value;
  return t;
}

TEST(Tape, RunsClosuresFromTheLastToTheFirstAndFreesEach) {
  Context context;
  Tape tape(context, Tape::Mode::Record);
  const auto held = std::make_shared<int>(0);
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    tape.push([&order, held, i] {
      order.push_back(i);
      EXPECT_EQ(held.use_count(), 2 + i);  // of this test, this closure, and the closures before it
    });
  }
  EXPECT_EQ(held.use_count(), 4);
  tape.backward();
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Tape, RemembersNothingUnlessItRecords) {
  Context context;
  for (const auto mode : {Tape::Mode::Discard, Tape::Mode::Off}) {
    Tape tape(context, mode);
    bool ran = false;
    tape.push([&ran] { ran = true; });
    tape.backward();
    EXPECT_FALSE(ran);
    EXPECT_FALSE(tape.gradient(tape.variable(scalar(context, 1))));
  }
}

TEST(Tape, TheFirstGradientOverwritesAndLaterOnesAdd) {
  Context context;
  Tape tape(context, Tape::Mode::Record);
  const Var x = tape.variable(scalar(context, 1));
  const Gradient first = tape.gradient(x), second = tape.gradient(x);
  EXPECT_EQ(first.mode, Accumulate::Overwrite);
  EXPECT_EQ(second.mode, Accumulate::Add);
  EXPECT_EQ(first.tensor.raw(), second.tensor.raw());
  EXPECT_FALSE(tape.gradient(tape.constant(scalar(context, 1))));
}

// Two replicas, one parameter in one bucket: its all-reduce begins when no use of the parameter is open any more.
class ParameterUses : public testing::Test {
 protected:
  struct Rank {
    Context context;
    Mesh& mesh;
    ParameterRegistry registry{context, mesh};
    Parameter& w = registry.add({.name = "w", .shape = {1}, .init = Init::ones()});
    std::unique_ptr<GradientBuckets> buckets;
    explicit Rank(Mesh& m) : mesh(m) {
      registry.allocate(Precision::Fp32, Purpose::Training);
      registry.initialise(1);
      buckets = std::make_unique<GradientBuckets>(registry);
      buckets->begin_step();
      buckets->begin_micro_batch(true);
    }
    int64_t reductions() const { return mesh.dp().traffic()[Collective::AllReduce].calls; }
    // An operation that reads w and whose backward contributes `value`.
    void operation(Tape& tape, float value) {
      const ParameterUse use = tape.use(&w);
      EXPECT_EQ(use.value().raw(), w.value().raw());
      tape.push([use, value] {
        const Gradient to = use.gradient();
        float& g = to.tensor.data<float>()[0];
        g = to.mode == Accumulate::Add ? g + value : value;
      });
    }
    float finish() {
      buckets->finish();
      return registry.flat_gradient().data<float>()[0];
    }
  };
  static void run(const std::function<void(Rank&)>& body) {
    run_in_process({.dp = 2}, [&](Mesh& mesh, int) {
      Rank rank(mesh);
      body(rank);
    });
  }
};

TEST_F(ParameterUses, AllUsesEndBeforeTheGradientIsReduced) {
  run([](Rank& rank) {
    Tape tape(rank.context, Tape::Mode::Record, rank.buckets.get());
    rank.operation(tape, 3);
    tape.push([&rank] { EXPECT_EQ(rank.reductions(), 0) << "one of two uses has ended"; });
    rank.operation(tape, 4);
    tape.backward();
    EXPECT_EQ(rank.reductions(), 1);
    EXPECT_EQ(rank.finish(), 2 * (3 + 4));
    EXPECT_EQ(rank.reductions(), 1);
  });
}

TEST_F(ParameterUses, EndOnceIfTheirSegmentIsRecomputed) {
  run([](Rank& rank) {
    Tape tape(rank.context, Tape::Mode::Record, rank.buckets.get());
    const Var x = tape.variable(scalar(rank.context, 1));
    rank.operation(tape, 3);
    tape.push([&rank] { EXPECT_EQ(rank.reductions(), 0) << "a use outside the segment is open"; });
    tape.recompute({x}, [&rank](Tape& inner, const std::vector<Var>& in) {
      rank.operation(inner, 4);
      return in;
    });
    tape.push([&rank] { EXPECT_EQ(rank.reductions(), 0) << "the segment's use is open"; });
    tape.backward();
    EXPECT_EQ(rank.reductions(), 1);
    EXPECT_EQ(rank.finish(), 2 * (3 + 4));
  });
}

// A forward that is given up (its tape dropped, or unwound by an error) leaves no use open.
TEST_F(ParameterUses, EndWithADroppedTape) {
  run([](Rank& rank) {
    {
      Tape dropped(rank.context, Tape::Mode::Record, rank.buckets.get());
      rank.operation(dropped, 3);
    }
    Tape tape(rank.context, Tape::Mode::Record, rank.buckets.get());
    rank.operation(tape, 4);
    tape.backward();
    EXPECT_EQ(rank.reductions(), 1);
    EXPECT_EQ(rank.finish(), 2 * 4);
  });
}

TEST_F(ParameterUses, GiveAbsentTensorsForNoParameter) {
  run([](Rank& rank) {
    Tape tape(rank.context, Tape::Mode::Record, rank.buckets.get());
    const ParameterUse none = tape.use(nullptr);
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.value());
    EXPECT_FALSE(none.gradient());
    Tape without(rank.context, Tape::Mode::Record);
    EXPECT_TRUE(without.use(&rank.w));
    EXPECT_THROW(without.use(&rank.w).gradient(), InternalError);
  });
}

}  // namespace
}  // namespace weft
