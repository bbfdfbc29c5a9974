// SPDX-License-Identifier: Apache-2.0
// Updated weights are waited for where the next forward pass reads them, and are gathered in that order.
#include <gmock/gmock.h>

#include <algorithm>

#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using namespace test;

// Names of gathers.
struct Gathers {
  std::vector<std::string> begun;       // in the order of their beginnings
  std::vector<std::string> in_forward;  // waited for in a forward pass, in the order of the waits
  size_t elsewhere = 0;                 // waits
};

bool holds(const TraceSpan& outer, const TraceSpan& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

// What rank 0 gathers after its first step.
Gathers gathers_of(const LayoutCase& what) {
  Gathers gathers;
  run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
    Context context(Device{}, 1);
    mesh.trace_into(context.trace());
    LayoutModel model(what, {.dp = 2, .zero = ZeroStage::Optimizer}, mesh, context);
    context.trace().start();
    for (int i = 0; i < 2; ++i) model.step({.learning_rate = 1e-3});
    std::vector<TraceSpan> spans = context.trace().stop().spans;
    model.model().parameters().finish_weight_gather();
    if (rank != 0) return;
    std::ranges::stable_sort(spans, {}, &TraceSpan::begin);
    for (const TraceSpan& span : spans) {
      if (!span.what.starts_with("dp.all_gather")) continue;
      if (span.kind == SpanKind::Collective) gathers.begun.push_back(span.what);
      if (span.kind != SpanKind::Wait) continue;
      const bool in_forward = std::ranges::any_of(
          spans, [&](const TraceSpan& s) { return s.what.starts_with("forward") && holds(s, span); });
      if (in_forward) gathers.in_forward.push_back(span.what);
      if (!in_forward) ++gathers.elsewhere;
    }
  });
  return gathers;
}

TEST(GathersOfAStep, BeginAndAreWaitedForInTheOrderOfTheirReaders) {
  const LoraConfig adapters{.rank = 4, .targets = {"attention.*", "ffn.*"}};
  for (const LayoutCase& what : {LayoutCase{}, LayoutCase{.seq2seq = true}, LayoutCase{.lora = adapters},
                                 LayoutCase{.precision = Precision::Bf16}}) {
    const Gathers gathers = gathers_of(what);
    EXPECT_EQ(gathers.elsewhere, 0u);
    EXPECT_EQ(gathers.begun, gathers.in_forward);
    ASSERT_GE(gathers.in_forward.size(), 2u);
    for (size_t i = 0; i < gathers.in_forward.size(); ++i) {
      EXPECT_EQ(gathers.in_forward[i],
                fmt::format("dp.all_gather, weights of bucket {}", gathers.in_forward.size() - 1 - i));
    }
  }
}

}  // namespace
}  // namespace weft
