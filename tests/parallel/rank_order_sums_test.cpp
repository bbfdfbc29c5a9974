// SPDX-License-Identifier: Apache-2.0
// Sums that the program adds itself, in rank order, over threads of one process.
#include "parallel/rank_order_sums.h"

#include <gtest/gtest.h>

#include "parallel/local/dry_communicator.h"
#include "parallel/local/in_process.h"
#include "tests/parallel/fixture.h"

namespace weft {
namespace {

using namespace test;

TEST(RankOrderSums, AreRoundedOnceInTheOrderOfTheRanks) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    run_in_process({.tp = ranks}, [](Mesh& mesh, int) {
      Context context;
      check_bf16_sums(context, mesh.tp());
    });
  }
}

TEST(RankOrderSums, HaveTheBitsOfTheComposedFormula) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    run_in_process({.dp = ranks}, [](Mesh& mesh, int) {
      Context context;
      check_rounded_sums(context, mesh.dp());
    });
  }
}

TEST(RankOrderSums, AddPartsOfAnyFloatingDtype) {
  Context context;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    const Tensor parts = context.empty({3, 40}, dtype), sum = context.empty({5, 8}, dtype);
    put(context, parts, [](int64_t i) { return value(static_cast<int>(i / 40), i % 40); });
    add_parts(context, parts, sum);
    expect(
        context, sum, [](int64_t i) { return sum_of(3, i); }, std::string(name(dtype)));
  }
}

TEST(RankOrderSums, SendHalfOfWhatSumsInFp32Do) {
  run_in_process({.tp = 4}, [](Mesh& mesh, int) {
    Context context;
    Communicator& tp = mesh.tp();
    const auto sent = [&](auto&& sum) {
      tp.traffic().clear();
      sum();
      return tp.traffic().total().moved;
    };
    const Tensor exact = context.zeros({1200}, DType::F32), part = context.zeros({300}, DType::F32);
    const Tensor rounded = context.zeros({1200}, DType::BF16), share = context.zeros({300}, DType::BF16);
    EXPECT_EQ(sent([&] { all_reduce_bf16(context, tp, rounded); }), sent([&] { tp.all_reduce(exact); }) / 2);
    EXPECT_EQ(sent([&] { reduce_scatter_bf16(context, tp, rounded, share); }),
              sent([&] { tp.reduce_scatter(exact, part); }) / 2);
    EXPECT_EQ(sent([&] { RoundedSum(context, tp, exact, {}).add(part); }),
              sent([&] { tp.reduce_scatter(exact, part); }) / 2);
    EXPECT_EQ(sent([&] { RoundedSum(context, tp, exact, {}).finish(exact); }), sent([&] { tp.all_reduce(exact); }) / 2);
  });
}

// A dry run holds as much memory as a run: the parts, and a share in fp32.
TEST(RankOrderSums, HoldWhatTheirDryRunsDo) {
  const auto held = [](Context& context, Communicator& tp, int64_t elements) {
    const Tensor t = context.zeros({elements}, DType::BF16);
    const size_t before = context.memory().use().lent;
    context.memory().reset_peak();
    all_reduce_bf16(context, tp, t);
    return context.memory().use().peak - before;
  };
  run_in_process({.tp = 4}, [&](Mesh& mesh, int rank) {
    for (const int64_t elements : {4096, 4099}) {
      Context context, meta({.kind = DeviceKind::Meta});
      Mesh dry = dry_mesh({.tp = 4}, meta, rank);
      const size_t here = held(context, mesh.tp(), elements);
      EXPECT_EQ(here, held(meta, dry.tp(), elements)) << elements;
      EXPECT_LE(here, static_cast<size_t>(elements % 4 == 0 ? 3 * elements : 6 * elements)) << elements;
    }
  });
}

}  // namespace
}  // namespace weft
