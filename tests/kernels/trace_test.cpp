// SPDX-License-Identifier: Apache-2.0
#include "kernels/trace.h"

#include <thread>

#include "kernels/ops/elementwise.h"
#include "kernels/ops/matmul.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

void work(Context& context) {
  const Tensor a = random(context, {60, 40}, DType::F32, 1), b = random(context, {40, 50}, DType::F32, 2);
  const Tensor c = context.empty({60, 50}, DType::F32);
  matmul(context, {.a = a, .b = b, .c = c});
  fill(context, c, 0);
  matmul(context, {.a = a, .b = b, .c = c});
}

TEST(Traces, OperationsAreInTheirOrderAndSumToTheLedger) {
  OperationContext context;
  work(context);  // algorithms are chosen before the trace
  context.trace().start();
  context.ledger().clear();
  {
    const QueueSpan all(context, SpanKind::Phase, "all of it", 7);
    work(context);
  }
  const Trace::Record record = context.trace().stop();
  EXPECT_EQ(record.lost, 0);
  std::map<std::string, Ledger::Sums> sums;
  double end = 0;
  for (const TraceSpan& span : record.spans) {
    EXPECT_LE(span.begin, span.end) << span.what;
    if (span.kind != SpanKind::Operation) continue;
    EXPECT_LE(end, span.begin) << span.what;
    end = span.end;
    sums[span.what] += {.calls = 1, .flops = span.flops, .bytes = span.bytes};
  }
  for (const auto& [operation, entry] : context.ledger().entries()) {
    EXPECT_EQ(sums[operation].calls, entry.calls) << operation;
    EXPECT_EQ(sums[operation].flops, entry.flops) << operation;
    EXPECT_EQ(sums[operation].bytes, entry.bytes) << operation;
  }
  EXPECT_EQ(sums.at("matmul").calls, 2);
  const TraceSpan& phase = record.spans.back();
  EXPECT_EQ(phase.what, "all of it 7");
  EXPECT_EQ(phase.kind, SpanKind::Phase);
  for (const TraceSpan& span : record.spans) {
    EXPECT_LE(phase.begin, span.begin) << span.what;
    EXPECT_GE(phase.end, span.end) << span.what;
  }
}

TEST(Traces, RecordOnlyBetweenStartAndStop) {
  OperationContext context;
  work(context);
  EXPECT_EQ(context.trace().mark(), Trace::kNone);
  for (int i = 0; i < 2; ++i) {
    std::optional<QueueSpan> begun_before(std::in_place, context, SpanKind::Phase, "begun before");
    std::optional<HostSpan> of_host(std::in_place, context.trace(), SpanKind::Data, "begun before");
    context.trace().start();
    begun_before.reset(), of_host.reset();
    const auto now = Trace::Clock::now();
    context.trace().add_of_host(SpanKind::Data, "begun before", now - std::chrono::seconds(10), now);
    fill(context, context.empty({3}, DType::F32), 1);
    const std::vector<TraceSpan> spans = context.trace().stop().spans;
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].what, "fill");
    work(context);
  }
}

TEST(Traces, AnyThreadAddsItsOwn) {
  OperationContext context;
  context.trace().start();
  std::thread([&] { const HostSpan span(context.trace(), SpanKind::Save, "write"); }).join();
  const auto begin = Trace::Clock::now();
  context.trace().add_of_host(SpanKind::Data, "tokens", begin, begin + std::chrono::milliseconds(250));
  const std::vector<TraceSpan> spans = context.trace().stop().spans;
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].what, "write");
  EXPECT_EQ(spans[0].kind, SpanKind::Save);
  EXPECT_NEAR(spans[1].end - spans[1].begin, 0.25, 1e-9);
}

TEST(Traces, MoreThanFitAreCounted) {
  OperationContext context;
  context.trace().start();
  const auto now = Trace::Clock::now();
  for (size_t i = 0; i < Trace::kMostSpans + 5; ++i) context.trace().add_of_host(SpanKind::Data, "", now, now);
  const Trace::Record record = context.trace().stop();
  EXPECT_EQ(record.spans.size(), Trace::kMostSpans);
  EXPECT_EQ(record.lost, 5);
}

}  // namespace
}  // namespace weft
