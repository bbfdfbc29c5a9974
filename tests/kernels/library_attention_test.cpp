// SPDX-License-Identifier: Apache-2.0
// The calls of a library that computes attention: the library here records its arguments.
#include <gtest/gtest.h>

#include "kernels/cuda/cudnn/attention.h"
#include "kernels/cuda/cudnn/log_sum.h"
#include "kernels/cuda/runtime/captured_graph.h"
#include "kernels/cuda/tuning.h"
#include "tests/support/cuda_devices.h"
#include "tests/support/operation_context.h"

namespace weft::cuda {
namespace {

using test::OperationContext;

constexpr size_t kWorkspace = 1000;

// The calls that the library has recorded, and the plans that it refuses.
struct Notes {
  std::vector<AttentionWindows> built;
  std::vector<AttentionPointers> runs;
  std::vector<std::byte*> workspaces;
  bool refuse_plans = false, refuse_runs = false;
  size_t workspace = kWorkspace;
  int alive = 0;  // plans
};

class NotedPlan : public AttentionPlan {
 public:
  explicit NotedPlan(Notes& notes) : notes_(notes) { ++notes_.alive; }
  ~NotedPlan() override { --notes_.alive; }
  size_t workspace() const override { return notes_.workspace; }
  void run(const AttentionPointers& pointers, void* workspace) override {
    if (notes_.refuse_runs) throw CudnnRefusal("not run today");
    notes_.runs.push_back(pointers);
    notes_.workspaces.push_back(static_cast<std::byte*>(workspace));
  }

 private:
  Notes& notes_;
};

class NotedPlans : public AttentionPlans {
 public:
  explicit NotedPlans(Notes& notes) : notes_(notes) {}
  std::string name() const override { return "a library"; }
  std::unique_ptr<AttentionPlan> build(const AttentionWindows& windows) override {
    notes_.built.push_back(windows);
    if (notes_.refuse_plans) throw CudnnRefusal("not planned today");
    return std::make_unique<NotedPlan>(notes_);
  }

 private:
  Notes& notes_;
};

struct Case {
  std::vector<int32_t> query_offsets = {0, 80, 160};
  std::vector<int32_t> key_offsets = {};  // for cross-attention; empty for self-attention
  AttentionHeads heads = {3, 1, 16};
  DType dtype = DType::BF16;
  double dropout = 0;
  int64_t window = 0;
};

class AttentionLibrary : public testing::Test {
 protected:
  AttentionLibrary() { library_.use(std::make_unique<NotedPlans>(notes_)); }

  // Tensors as the operation has checked them; their contents do not matter.
  AttentionBackward call(const Case& c) {
    const bool cross = !c.key_offsets.empty();
    const int64_t rows = c.query_offsets.back(), wide = c.heads.heads() * c.heads.head_dim;
    const int64_t pair = 2 * c.heads.kv_heads * c.heads.head_dim;
    AttentionBackward args{
        .heads = c.heads, .causal = !cross, .window = c.window, .scale = 0.25, .dropout = {.probability = c.dropout}};
    args.query_offsets = share_offsets(context_, c.query_offsets);
    args.key_offsets = cross ? share_offsets(context_, c.key_offsets) : args.query_offsets;
    const auto tensor = [&](int64_t height, int64_t width) { return context_.zeros({height, width}, c.dtype); };
    if (cross) {
      args.q = tensor(rows, wide), args.dq = tensor(rows, wide);
      args.kv = tensor(c.key_offsets.back(), pair), args.dkv = tensor(c.key_offsets.back(), pair);
    } else {
      args.qkv = tensor(rows, wide + pair), args.dqkv = tensor(rows, wide + pair);
    }
    args.out = tensor(rows, wide), args.dout = tensor(rows, wide);
    args.log_sum = context_.zeros({c.heads.heads(), rows}, DType::F32);
    return args;
  }
  static AttentionForward forward_of(const AttentionBackward& b) {
    return {.qkv = b.qkv,
            .q = b.q,
            .kv = b.kv,
            .heads = b.heads,
            .query_offsets = b.query_offsets,
            .key_offsets = b.key_offsets,
            .causal = b.causal,
            .window = b.window,
            .scale = b.scale,
            .dropout = b.dropout,
            .out = b.out,
            .log_sum = b.log_sum};
  }

  template <class Args>
  bool run(const Args& args) {
    scratch_ = context_.empty({static_cast<int64_t>(library_.workspace(args) / 4) + 1}, DType::I32);
    const bool ran = library_.run(args, Scratch(scratch_.device_raw()));
    stream_.finish();
    return ran;
  }

  OperationContext context_;
  Stream stream_{0};
  Notes notes_;
  LibraryAttention library_{stream_};
  Tensor scratch_;
};

int64_t elements_between(const Tensor& from, const void* to) {
  return (static_cast<const std::byte*>(to) - from.device_raw()) / static_cast<int64_t>(size_of(from.dtype()));
}

// The layout of a row: kernels/ops/attention.h.
TEST(AttentionWindows, LieAsRowsArePacked) {
  for (const bool cross : {false, true}) {
    const AttentionWindows w{
        .cross = cross, .sequences = 3, .queries = 5, .keys = cross ? 7 : 5, .heads = 4, .head_dim = 8};
    const AttentionLayout at = layout_of(w);
    const int64_t parts = cross ? 1 : 3, key_parts = cross ? 2 : 3, first_key = cross ? 0 : 1, D = w.head_dim;
    const auto place = [](const WindowLayout& l, int64_t sequence, int64_t head, int64_t row) {
      return l.first + sequence * l.strides[0] + head * l.strides[1] + row * l.strides[2];
    };
    for (int64_t s = 0; s < w.sequences; ++s) {
      for (int64_t h = 0; h < w.heads; ++h) {
        for (int64_t t = 0; t < 5; ++t) {
          const int64_t row = s * w.queries + t, key_row = s * w.keys + t;
          EXPECT_EQ(place(at.query, s, h, t), (row * w.heads + h) * parts * D);
          EXPECT_EQ(place(at.key, s, h, t), ((key_row * w.heads + h) * key_parts + first_key) * D);
          EXPECT_EQ(place(at.value, s, h, t), place(at.key, s, h, t) + D);
          EXPECT_EQ(place(at.out, s, h, t), (row * w.heads + h) * D);
          EXPECT_EQ(place(at.log_sum, s, h, t), h * w.sequences * w.queries + row);
        }
      }
    }
  }
}

TEST_F(AttentionLibrary, IsGivenPackedQkv) {
  const AttentionBackward args = call({});
  ASSERT_TRUE(run(forward_of(args)));
  const AttentionPointers& at = notes_.runs.back();
  EXPECT_EQ(elements_between(args.qkv, at.query), 0);
  EXPECT_EQ(elements_between(args.qkv, at.key), 16);
  EXPECT_EQ(elements_between(args.qkv, at.value), 32);
  EXPECT_EQ(elements_between(args.out, at.out), 0);
  EXPECT_EQ(elements_between(args.log_sum, at.log_sum), 0);
  EXPECT_EQ(at.dout, nullptr);
  EXPECT_EQ(at.dquery, nullptr);
  const AttentionWindows expected{
      .causal = true, .sequences = 2, .queries = 80, .keys = 80, .heads = 3, .head_dim = 16, .scale = 0.25};
  EXPECT_EQ(notes_.built, std::vector{expected});
}

TEST_F(AttentionLibrary, BackwardIsGivenGradientsAndItsStatisticsBySequence) {
  const AttentionBackward args = call({.key_offsets = {0, 100, 200}});
  const int64_t heads = 3, sequences = 2, rows = 80;
  float* const log_sum = args.log_sum.device_data<float>();
  for (int64_t i = 0; i < args.log_sum.elements(); ++i) log_sum[i] = static_cast<float>(i);
  ASSERT_TRUE(run(args));
  const AttentionPointers& at = notes_.runs.back();
  EXPECT_EQ(elements_between(args.q, at.query), 0);
  EXPECT_EQ(elements_between(args.kv, at.key), 0);
  EXPECT_EQ(elements_between(args.kv, at.value), 16);
  EXPECT_EQ(elements_between(args.dout, at.dout), 0);
  EXPECT_EQ(elements_between(args.dq, at.dquery), 0);
  EXPECT_EQ(elements_between(args.dkv, at.dkey), 0);
  EXPECT_EQ(elements_between(args.dkv, at.dvalue), 16);
  EXPECT_TRUE(notes_.built.back().backward && notes_.built.back().cross && !notes_.built.back().causal);
  // The packed sums are in the workspace, beside the library's own workspace.
  const auto* const packed = static_cast<const float*>(at.log_sum);
  EXPECT_GE(reinterpret_cast<const std::byte*>(packed), notes_.workspaces.back() + kWorkspace);
  EXPECT_LE(reinterpret_cast<const std::byte*>(packed + args.log_sum.elements()),
            scratch_.device_raw() + library_.workspace(args));
  for (int64_t s = 0; s < sequences; ++s) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t row = 0; row < rows; ++row) {
        ASSERT_EQ(packed[(s * heads + h) * rows + row], log_sum[(h * sequences + s) * rows + row]) << s << h << row;
      }
    }
  }
}

TEST_F(AttentionLibrary, WhereNobodyAskedItWorksInLittleMemoryAndSaysNothing) {
  if (const std::string lacks = test::lacks_simulation(); !lacks.empty()) GTEST_SKIP() << lacks;
  const AttentionForward args = forward_of(call({}));
  notes_.workspace = size_t{3} << 30;
  EXPECT_EQ(library_.workspace(args), notes_.workspace);
  testing::internal::CaptureStderr();
  library_.choose(AttentionChoice::Auto);  // the simulated cuDNN refuses
  EXPECT_EQ(library_.name(), "weft");
  library_.use(std::make_unique<NotedPlans>(notes_));
  EXPECT_EQ(library_.workspace(args), 0);
  EXPECT_FALSE(run(args));
  EXPECT_FALSE(run(call({.dropout = 0.1})));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  notes_.workspace = kWorkspace;
  EXPECT_TRUE(run(forward_of(call({.query_offsets = {0, 96, 192}}))));
}

TEST_F(AttentionLibrary, AGraphsPlanStaysWhenOthersMakeRoom) {
  const AttentionForward captured = forward_of(call({}));
  ASSERT_TRUE(run(captured));
  const CapturedGraph graph(stream_, [&] { library_.run(captured, Scratch(scratch_.device_raw())); });
  const int64_t shapes = static_cast<int64_t>(tuning::kMostPlans);
  for (int64_t i = 0; i < shapes; ++i) {
    const auto length = static_cast<int32_t>(81 + i);
    ASSERT_TRUE(run(forward_of(call({.query_offsets = {0, length, 2 * length}}))));
  }
  EXPECT_EQ(notes_.built.size(), tuning::kMostPlans + 1);
  EXPECT_EQ(notes_.alive, 2);  // the graph's, and the one for which room was made
}

TEST_F(AttentionLibrary, APlanIsBuiltOnceForAShape) {
  const AttentionBackward args = call({}), longer = call({.query_offsets = {0, 96, 192}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(run(forward_of(args)));
    EXPECT_TRUE(run(args));
  }
  EXPECT_EQ(notes_.built.size(), 2);
  EXPECT_TRUE(run(longer));
  EXPECT_EQ(notes_.built.size(), 3);
}

// Lines about attention, if all give this reason; else -1.
int reports(const std::string& logged, const std::string& reason) {
  int lines = 0;
  for (size_t at = logged.find("attention:"); at != std::string::npos; at = logged.find("attention:", at + 1)) {
    const std::string line = logged.substr(at, logged.find('\n', at) - at);
    if (line.find("weft's own kernels instead of a library: ") == std::string::npos) return -1;
    if (line.find(reason) == std::string::npos) return -1;
    ++lines;
  }
  return lines;
}

TEST_F(AttentionLibrary, UnsupportedCasesAreNotPlanned) {
  const std::vector<int32_t> several = {0, 81, 161}, none = {0, 80, 80}, brief = {0, 63, 126};
  const Case beyond[] = {{.query_offsets = several}, {.query_offsets = none}, {.query_offsets = brief},
                         {.key_offsets = several},   {.key_offsets = none},   {.key_offsets = brief},
                         {.heads = {3, 2, 16}},      {.dtype = DType::F32},   {.dropout = 0.1},
                         {.query_offsets = {0}},     {.window = 20}};
  testing::internal::CaptureStderr();
  for (const Case& c : beyond) {
    const AttentionBackward args = call(c);
    EXPECT_FALSE(run(forward_of(args)));
    EXPECT_FALSE(run(args));
    EXPECT_EQ(library_.workspace(args), 0);
  }
  EXPECT_EQ(reports(testing::internal::GetCapturedStderr(), "sequences have several lengths"), 1);
  EXPECT_TRUE(notes_.built.empty());
}

TEST_F(AttentionLibrary, ARefusedShapeIsReportedOnceAndNotPlannedAgain) {
  notes_.refuse_plans = true;
  const AttentionBackward args = call({}), longer = call({.query_offsets = {0, 96, 192}});
  testing::internal::CaptureStderr();
  for (const AttentionBackward& each : {args, args, longer, longer}) EXPECT_FALSE(run(each));
  EXPECT_EQ(reports(testing::internal::GetCapturedStderr(), "not planned today"), 1);
  EXPECT_EQ(notes_.built.size(), 2);
}

TEST_F(AttentionLibrary, AFailingPlanIsAbandoned) {
  const AttentionBackward args = call({});
  EXPECT_GT(library_.workspace(args), kWorkspace);
  notes_.refuse_runs = true;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(run(args));
  EXPECT_EQ(reports(testing::internal::GetCapturedStderr(), "not run today"), 1);
  notes_.refuse_runs = false;
  EXPECT_FALSE(run(args));  // no plan without one: a shape is always computed in the same way
  EXPECT_EQ(notes_.built.size(), 1);
}

TEST_F(AttentionLibrary, NothingIsPlannedWithoutALibrary) {
  library_.use(nullptr);
  const AttentionBackward args = call({});
  EXPECT_FALSE(run(args));
  EXPECT_EQ(library_.workspace(args), 0);
  EXPECT_EQ(library_.name(), "weft");
}

}  // namespace
}  // namespace weft::cuda
