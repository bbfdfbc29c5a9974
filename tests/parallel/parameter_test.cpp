// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "parallel/local/in_process.h"
#include "parallel/parameters/gradient_buckets.h"

namespace weft {
namespace {

// Initial weights are functions of (seed, name, logical index), whatever the layout.
TEST(Parameters, ShardsReassembleToTheSameBits) {
  const Shape shape{8, 3, 12};
  Context context;
  ASSERT_EQ(context.vocabulary_multiple(), 16);
  Mesh alone = Mesh::single();
  ParameterRegistry whole(context, alone);
  whole.add({.name = "w", .shape = shape, .init = Init::normal(0.02)});
  whole.allocate(Precision::Fp32, Purpose::Inference);
  whole.initialise(42);
  const float* expected = whole.find("w")->value().data<float>();
  for (const int dim : {0, 2}) {
    for (const int tp : {2, 4}) {
      run_in_process({.dp = 1, .tp = tp}, [&](Mesh& mesh, int) {
        Context mine;
        ParameterRegistry registry(mine, mesh);
        registry.add({.name = "before", .shape = {5}, .init = Init::ones()});
        registry.add(
            {.name = "w", .shape = shape, .init = Init::normal(0.02), .placement = sharded(MeshAxis::Tp, dim)});
        registry.allocate(Precision::Fp32, Purpose::Training);
        registry.initialise(42);
        const Parameter& p = *registry.find("w");
        const auto origin = registry.local_origin(p);
        const Shape local = p.local_shape();
        for (int64_t i = 0; i < local[0]; ++i) {
          for (int64_t j = 0; j < local[1]; ++j) {
            for (int64_t k = 0; k < local[2]; ++k) {
              const int64_t global = ((origin[0] + i) * shape[1] + origin[1] + j) * shape[2] + origin[2] + k;
              ASSERT_EQ(p.value().data<float>()[(i * local[1] + j) * local[2] + k], expected[global]);
            }
          }
        }
      });
    }
  }
}

TEST(Parameters, TheirPrecisionIsThatOfTheirAllocation) {
  for (const Precision precision : {Precision::Fp32, Precision::Bf16, Precision::Fp64}) {
    Context context;
    Mesh alone = Mesh::single();
    ParameterRegistry registry(context, alone);
    registry.add({.name = "w", .shape = {4}});
    registry.allocate(precision, Purpose::Training);
    EXPECT_EQ(registry.precision(), precision);
  }
}

TEST(Parameters, APlacementDividesADimOnceAndLeavesTheReplicasAlone) {
  EXPECT_EQ(Placement().dim(MeshAxis::Tp), std::nullopt);
  EXPECT_EQ(sharded(MeshAxis::Tp, 2).dim(MeshAxis::Tp), 2);
  EXPECT_EQ(sharded(MeshAxis::Tp, 2).dim(MeshAxis::Dp), std::nullopt);
  EXPECT_THROW(sharded(MeshAxis::Dp, 0), InternalError);
  EXPECT_THROW(sharded(MeshAxis::World, 0), InternalError);
  EXPECT_THROW((Placement{{MeshAxis::Tp, 0}, {MeshAxis::Tp, 1}}), InternalError);
}

// Each element of a replica is counted on exactly one of its ranks.
TEST(Parameters, OneRankOfAReplicaCountsAReplicatedParameter) {
  run_in_process({.dp = 2, .tp = 2}, [](Mesh& mesh, int) {
    Context context;
    ParameterRegistry registry(context, mesh);
    EXPECT_TRUE(
        registry.counts(registry.add({.name = "divided", .shape = {4}, .placement = sharded(MeshAxis::Tp, 0)})));
    EXPECT_EQ(registry.counts(registry.add({.name = "replicated", .shape = {4}})), mesh.tp().rank() == 0);
    EXPECT_THROW(
        registry.add({.name = "padded", .shape = {4, 4}, .placement = sharded(MeshAxis::Tp, 1), .padded = true}),
        InternalError);
  });
}

// A vocabulary is padded in memory to equal parts of a multiple that suits the device (16 rows here): existing rows
// reassemble, the padding is zero, and a rank may hold only padding.
TEST(Parameters, PaddedShardsReassemble) {
  Context context;
  ASSERT_EQ(context.vocabulary_multiple(), 16);
  Mesh alone = Mesh::single();
  ParameterRegistry whole(context, alone);
  whole.add(
      {.name = "w", .shape = {37, 3}, .init = Init::normal(1), .placement = sharded(MeshAxis::Tp, 0), .padded = true});
  whole.allocate(Precision::Fp32, Purpose::Inference);
  whole.initialise(42);
  const float* expected = whole.find("w")->value().data<float>();
  std::atomic<int64_t> rows = 0;
  run_in_process({.dp = 1, .tp = 4}, [&](Mesh& mesh, int rank) {
    Context mine;
    ParameterRegistry registry(mine, mesh);
    registry.add({.name = "w",
                  .shape = {37, 3},
                  .init = Init::normal(1),
                  .placement = sharded(MeshAxis::Tp, 0),
                  .padded = true});
    registry.allocate(Precision::Fp32, Purpose::Training);
    registry.initialise(42);
    const Parameter& p = *registry.find("w");
    EXPECT_EQ(p.local_shape(), (Shape{16, 3}));
    rows += p.extent()[0];
    const float* w = p.value().data<float>();
    for (int64_t i = 0; i < 48; ++i) EXPECT_EQ(w[i], i / 3 < p.extent()[0] ? expected[rank * 48 + i] : 0);
  });
  EXPECT_EQ(rows, 37);
}

TEST(Parameters, DrawsHaveTheirDistribution) {
  Context context({}, 2);
  Mesh mesh = Mesh::single();
  ParameterRegistry registry(context, mesh);
  registry.add({.name = "normal", .shape = {200, 500}, .init = Init::normal(0.5)});
  registry.add({.name = "uniform", .shape = {200, 500}, .init = Init::uniform(0.3)});
  registry.add({.name = "ones", .shape = {3}, .init = Init::ones()});
  EXPECT_THROW(registry.add({.name = "ones", .shape = {3}}), InternalError);
  registry.allocate(Precision::Fp32, Purpose::Inference);
  registry.initialise(1);
  const auto moments = [&](const char* name) {
    double mean = 0, square = 0;
    for (const float x : registry.find(name)->value().span<float>()) mean += x, square += double(x) * x;
    return std::pair(mean / 1e5, std::sqrt(square / 1e5));
  };
  EXPECT_NEAR(moments("normal").first, 0, 0.01);
  EXPECT_NEAR(moments("normal").second, 0.5, 0.01);
  EXPECT_NEAR(moments("uniform").first, 0, 0.01);
  EXPECT_NEAR(moments("uniform").second, 0.3 / std::sqrt(3), 0.005);
  EXPECT_EQ(registry.global_elements(), 200'003);
}

// Four parameters of one bucket each; the first is tied, so two uses contribute.
struct Buckets {
  Context context;
  ParameterRegistry registry;
  std::unique_ptr<GradientBuckets> buckets;
  explicit Buckets(Mesh& mesh, ZeroStage zero = ZeroStage::Whole, GradientDType gradients = GradientDType::Fp32)
      : registry(context, mesh) {
    for (const char* name : {"a", "b", "c", "d"}) registry.add({.name = name, .shape = {128}});
    registry.allocate(Precision::Fp32, Purpose::Training,
                      {.zero = zero, .gradients = gradients, .bucket_bytes = 128 * 4});
    buckets = std::make_unique<GradientBuckets>(registry);
  }
  void contribute(const char* name, float value) {
    const Parameter& p = *registry.find(name);
    const Gradient to = buckets->contribute(p);
    for (float& g : to.tensor.span<float>()) g = to.mode == Accumulate::Add ? g + value : value;
    buckets->close_use(p);
    buckets->progress();
  }
  float& gradient(const char* name) {
    return registry.flat_gradient().data<float>()[registry.find(name)->flat_offset() + 63];
  }
};

// Ranks whose contributions arrive in different orders, or not at all, get the same sums.
TEST(GradientBuckets, SumWhateverTheOrderOfContributions) {
  run_in_process({.dp = 3}, [](Mesh& mesh, int rank) {
    Buckets t(mesh);
    ASSERT_EQ(t.buckets->size(), 4);
    for (int step = 0; step < 3; ++step) {
      t.buckets->begin_step();
      if (rank != 2) {  // rank 2 has no rows at all
        for (int micro = 0; micro < 2; ++micro) {
          t.buckets->begin_micro_batch(micro == 1);
          for (const char* name : {"a", "b", "a", "d"}) t.buckets->open_use(*t.registry.find(name));
          if (rank == 0) {
            for (const char* name : {"d", "a", "b", "a"}) t.contribute(name, 1);
          } else {
            for (const char* name : {"a", "a", "b", "d"}) t.contribute(name, 10);
          }
        }
      }
      t.buckets->finish();
      EXPECT_EQ(t.gradient("a"), 44);
      EXPECT_EQ(t.gradient("b"), 22);
      EXPECT_EQ(t.gradient("c"), 0);  // without a contribution: zeroed, though the last step left a value
      EXPECT_EQ(t.gradient("d"), 22);
      t.gradient("c") = 5;
    }
  });
}

// With replicas that divide the state, each gets the sums of the ranges that it owns, over micro-batches too; a replica
// with fewer micro-batches does not wait for the others.
TEST(GradientBuckets, ReplicasGetTheSumsOfTheRangesTheyOwn) {
  for (const ZeroStage zero : {ZeroStage::Optimizer, ZeroStage::Gradients}) {
    run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
      Buckets t(mesh, zero);
      const FlatLayout& layout = t.registry.layout();
      ASSERT_EQ(layout.owned.size(), 4u);
      EXPECT_EQ(layout.owned_elements, layout.elements / 2);
      for (int step = 0; step < 2; ++step) {
        t.buckets->begin_step();
        for (int micro = 0; micro < 2; ++micro) {
          t.buckets->begin_micro_batch(micro == 1 - rank);
          if (micro <= 1 - rank) {  // rank 1 has one micro-batch, rank 0 two
            for (const char* name : {"a", "b", "d"}) t.buckets->open_use(*t.registry.find(name));
            for (const char* name : {"d", "b", "a"}) t.contribute(name, rank == 0 ? 1 : 10);
          }
          t.buckets->end_micro_batch();
        }
        t.buckets->finish();
        const auto owned = [&](size_t bucket) {  // a is the last bucket
          return t.registry.reduced_gradient().piece(layout.owned[3 - bucket]).span<float>()[0];
        };
        EXPECT_EQ(owned(0), 12);
        EXPECT_EQ(owned(1), 12);
        EXPECT_EQ(owned(2), 0);
        EXPECT_EQ(owned(3), 12);
        if (zero == ZeroStage::Gradients) {
          EXPECT_FALSE(t.registry.flat_gradient());
        }
      }
    });
  }
}

// Gradients that are sent in bf16 are rounded once on each rank, after its micro-batches (with ZeRO 2 in each of them),
// and are added in fp32; sums are rounded once more where all replicas need all of them.
TEST(GradientBuckets, RoundWhatTheySendAndAddItInFp32) {
  const float mine[] = {1.005859375f, 0x1.81p-12f, -3.0078125f};  // by rank; bf16 holds none of them
  const auto rounded = [](float x) { return static_cast<float>(BFloat16(x)); };
  for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
    const bool each = zero == ZeroStage::Gradients;
    float sum = 0;
    for (int micro = 0; micro < (each ? 2 : 1); ++micro) {
      float of_ranks = 0;
      for (const float x : mine) of_ranks += rounded(each ? x : x + x);
      sum += of_ranks;
    }
    const float expected = zero == ZeroStage::Whole ? rounded(sum) : sum;
    run_in_process({.dp = 3}, [&](Mesh& mesh, int rank) {
      Buckets t(mesh, zero, GradientDType::Bf16);
      for (int step = 0; step < 2; ++step) {
        t.buckets->begin_step();
        for (int micro = 0; micro < 2; ++micro) {
          t.buckets->begin_micro_batch(micro == 1);
          for (const char* name : {"a", "b", "d"}) t.buckets->open_use(*t.registry.find(name));
          for (const char* name : {"d", "b", "a"}) t.contribute(name, mine[rank]);
          t.buckets->end_micro_batch();
        }
        t.buckets->finish();
        for (const auto& p : t.registry.parameters()) {
          const float wanted = p->spec().name == "c" ? 0 : expected;
          for (const FlatRange& part : t.registry.reduced_gradient().parts(p->range())) {
            for (const float g : t.registry.reduced_gradient().piece(part).span<float>()) EXPECT_EQ(g, wanted);
          }
        }
      }
    });
  }
}

// A bucket's reduction begins with its last contribution, while backward continues, but only in the last micro-batch:
// the micro-batches before it add to the same memory.
TEST(GradientBuckets, ReductionsBeginWhileBackwardRuns) {
  run_in_process({.dp = 2}, [](Mesh& mesh, int) {
    Buckets t(mesh);
    const auto begun = [&] { return mesh.dp().traffic()[Collective::AllReduce].calls; };
    const auto backward = [&](const std::vector<int64_t>& begun_after_each) {
      for (const char* name : {"a", "b", "c", "d"}) t.buckets->open_use(*t.registry.find(name));
      std::vector<int64_t> counts;
      for (const char* name : {"d", "b", "c", "a"}) t.contribute(name, 1), counts.push_back(begun());
      EXPECT_EQ(counts, begun_after_each);
    };
    t.buckets->begin_step();
    t.buckets->begin_micro_batch(false);
    backward({0, 0, 0, 0});
    t.buckets->begin_micro_batch(true);
    backward({1, 1, 3, 4});  // in the order of buckets: b waits for c
    EXPECT_GT(t.buckets->finish(), 0) << "seconds that reductions were waited for";
    EXPECT_EQ(begun(), 4);
    EXPECT_EQ(t.gradient("a"), 2 * 2);
  });
}

}  // namespace
}  // namespace weft
