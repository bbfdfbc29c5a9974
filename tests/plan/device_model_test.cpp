// SPDX-License-Identifier: Apache-2.0
// The times that weft plan predicts for devices, computed by hand.
#include "plan/device_model.h"

#include <gtest/gtest.h>

#include "plan/model_flops.h"
#include "plan/prediction_report.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

// A device of round numbers, all of whose rates are reached.
const DeviceSpec kDevice{.name = "round",
                         .memory_gib = 1,
                         .memory_gbps = 1000,
                         .bf16_teraflops = 100,
                         .fp32_teraflops = 10,
                         .multiprocessors = 4,
                         .own_attention_teraflops = 50,
                         .library_attention_teraflops = 80,
                         .link_gbps = 100,
                         .network_gbps = 10};
const Reach kAll{.tile_start = 0,
                 .memory = 1,
                 .fp32_attention = 1,
                 .links = 1,
                 .gap = 0,
                 .graph_gap = 0,
                 .launch = 1e-3,
                 .graph_launch = 1e-4,
                 .step = 0,
                 .link_hop = 1e-3,
                 .network_hop = 1e-2};

StepPlan small_plan() {
  StepPlan plan{.precision = Precision::Bf16, .micro_batches = 1};
  plan.operations.emplace("linear_forward",
                          Ledger::Entry(OperationKind::Product, {.calls = 2, .flops = 300e12, .bytes = 1e9}));  // 3 s
  plan.operations.emplace("attention_forward",
                          Ledger::Entry(OperationKind::Attention, {.calls = 1, .flops = 100e12, .bytes = 1e9}));  // 2 s
  plan.operations.emplace("residual_norm_forward",
                          Ledger::Entry(OperationKind::Memory, {.calls = 1, .flops = 1e9, .bytes = 1e12}));  // 1 s
  return plan;
}

TEST(DeviceModel, OperationsWithoutPartsTakeTheLongerOfComputingAndMoving) {
  const PredictedStep bf16 = predict_step(small_plan(), kDevice, kAll);
  EXPECT_DOUBLE_EQ(bf16.products, 3);
  EXPECT_DOUBLE_EQ(bf16.attention, 2);
  EXPECT_DOUBLE_EQ(bf16.memory, 1);
  EXPECT_DOUBLE_EQ(bf16.host, 4e-3);
  EXPECT_DOUBLE_EQ(bf16.seconds(), 6);

  StepPlan fp32 = small_plan();
  fp32.precision = Precision::Fp32;
  EXPECT_DOUBLE_EQ(predict_step(fp32, kDevice, kAll).products, 30);
  EXPECT_DOUBLE_EQ(predict_step(fp32, kDevice, kAll).attention, 10);
}

TEST(DeviceModel, TheHostsPartIsTheLeast) {
  StepPlan plan = small_plan();
  plan.operations.emplace("activate", Ledger::Entry(OperationKind::Memory, {.calls = 7000}));
  EXPECT_DOUBLE_EQ(predict_step(plan, kDevice, kAll).seconds(), 7.004);
}

// Backward takes 4 of the 6 s: gradients hide behind it except the last bucket, weights behind the next forward's 2 s.
TEST(DeviceModel, WhatReplicasSendHidesBehindAMicroBatch) {
  const auto exposed = [](double gradients, double weights, int64_t micro_batches = 1) {
    StepPlan plan = small_plan();
    plan.layout = {.dp = 2};
    plan.micro_batches = micro_batches;
    plan.traffic["dp.reduce_scatter"] = {.calls = 10, .bytes = gradients * 100e9};
    plan.traffic["dp.all_gather"] = {.calls = 10, .bytes = weights * 100e9};
    return predict_step(plan, kDevice, kAll).replicas;
  };
  const double hops = 10 * 1e-3;
  EXPECT_NEAR(exposed(3, 1), (3 + hops) / 10, 1e-12);
  EXPECT_NEAR(exposed(5, 1), 5 + hops - 4, 1e-12);
  EXPECT_NEAR(exposed(5, 3), 5 + hops - 4 + 3 + hops - 2, 1e-12);
  EXPECT_NEAR(exposed(5, 0, 2), 5 + hops - 2, 1e-12);
}

// Where replicas divide nothing, what they gather are sums of gradients (parallel.gradient_dtype).
TEST(DeviceModel, GatheredSumsOfGradientsHideAsGradientsDo) {
  StepPlan plan = small_plan();
  plan.layout = {.dp = 2};
  plan.traffic["dp.all_to_all"] = {.calls = 10, .bytes = 200e9};
  plan.traffic["dp.all_gather"] = {.calls = 10, .bytes = 300e9};
  const double hops = 2 * 10 * 1e-3;
  EXPECT_NEAR(predict_step(plan, kDevice, kAll).replicas, (2 + hops / 2) / 10 + 3 + hops / 2 - 2, 1e-12);
  plan.gathers_weights = false;
  EXPECT_NEAR(predict_step(plan, kDevice, kAll).replicas, 5 + hops - 4, 1e-12);
}

TEST(DeviceModel, ShardsAreWaitedForAndNodesAreFarther) {
  StepPlan plan = small_plan();
  plan.layout = {.dp = 1, .tp = 4};
  plan.traffic["tp.all_reduce"] = {.calls = 100, .bytes = 50e9};
  EXPECT_NEAR(predict_step(plan, kDevice, kAll).shards, 0.5 + 100 * 2 * 3 * 1e-3, 1e-12);

  plan.traffic = {{"dp.all_reduce", {.calls = 1, .bytes = 400e9}}};
  const auto replicas = [&plan](int dp, int tp) {
    plan.layout = {.dp = dp, .tp = tp};
    return predict_step(plan, kDevice, kAll).replicas;
  };
  EXPECT_NEAR(replicas(8, 1), 4 + 2 * 7 * 1e-3, 1e-12);                 // one node over its links
  EXPECT_NEAR(replicas(16, 1), 5 + 2 * 15 * (7e-3 + 1e-2) / 8, 1e-12);  // two nodes over the 8 adapters of each
  EXPECT_NEAR(replicas(16, 4), 20 + 2 * 15 * (1e-3 + 1e-2) / 2,
              1e-12);  // two devices of the axis in each node, over their adapters
}

// Each rank sends directly to all others: one hop, and the bytes for other nodes over its own adapter.
TEST(DeviceModel, AnAllToAllGoesAroundNothing) {
  StepPlan plan = small_plan();
  plan.traffic["tp.all_to_all"] = {.calls = 100, .bytes = 30e9};
  const auto shards = [&plan](int tp) {
    plan.layout = {.dp = 1, .tp = tp};
    return predict_step(plan, kDevice, kAll).shards;
  };
  EXPECT_NEAR(shards(4), 0.3 + 100 * 1e-3, 1e-12);
  EXPECT_NEAR(shards(16), 30.0 * 8 / 15 / 10 + 100 * 1e-2, 1e-12);
}

TEST(DeviceModel, TheFastestLayoutThatFitsComesFirst) {
  std::vector<StepPlan> plans(3, small_plan());
  plans[0].target_tokens = 10, plans[1].target_tokens = 20, plans[2].target_tokens = 30;
  plans[2].peak_bytes = size_t{2} << 30;
  plans[1].model_flops = 60e12;
  const std::vector<Prediction> sorted = predict(plans, kDevice);
  EXPECT_EQ(sorted[0].plan.target_tokens, 20);
  EXPECT_EQ(sorted[1].plan.target_tokens, 10);
  EXPECT_EQ(sorted[2].plan.target_tokens, 30);
  EXPECT_FALSE(sorted[2].fits);
  EXPECT_DOUBLE_EQ(sorted[0].utilisation(kDevice), 60e12 / (100e12 * sorted[0].step.seconds()));
  const std::string table = describe(sorted, kDevice);
  EXPECT_NE(table.find("does not fit"), std::string::npos) << table;
  EXPECT_NE(table.find("not measured"), std::string::npos) << table;
}

TEST(DeviceModel, ADeviceIsKnownByItsOwnName) {
  EXPECT_EQ(stated_gflops("NVIDIA H100 80GB HBM3, sm_90", Precision::Bf16), 989e3);
  EXPECT_EQ(stated_gflops("NVIDIA H200, sm_90", Precision::Fp32), 67e3);
  EXPECT_EQ(stated_gflops("NVIDIA H100 PCIe, sm_90", Precision::Bf16), 0);
  EXPECT_EQ(stated_gflops("AMD EPYC", Precision::Bf16), 0);
}

TEST(DeviceModel, AnUnknownDeviceIsNamed) {
  const std::string error = test::error_of([] { find_device("b200"); });
  EXPECT_NE(error.find("--device b200"), std::string::npos) << error;
  EXPECT_NE(error.find("a100, h100, h200"), std::string::npos) << error;
}

// Gaps and launches count kernels: of a product and a pass each one, of attention's backward two.
TEST(DeviceModel, KernelsHaveGapsAndTheHostLaunchesEach) {
  StepPlan plan{.precision = Precision::Bf16, .micro_batches = 1};
  Ledger::Entry product(OperationKind::Product, {.calls = 2}), backward(OperationKind::Attention, {.calls = 4});
  product.parts = {{{.kind = OperationKind::Product, .m = 1, .n = 1, .k = 1}, 2}, {{.bytes = 1}, 5}};
  backward.parts = {{{.kind = OperationKind::Attention, .m = 1, .n = 1, .k = 1, .backward = true}, 96}};
  plan.operations.emplace("linear_backward", product);
  plan.operations.emplace("attention_backward", backward);
  Reach reach = kAll;
  reach.gap = 1, reach.graph_gap = 0.5, reach.step = 3;
  const PredictedStep queued = predict_step(plan, kDevice, reach);
  EXPECT_EQ(queued.launches, 2 + 5 + 4 * 2);
  EXPECT_DOUBLE_EQ(queued.gaps, 15 + 3);
  EXPECT_DOUBLE_EQ(queued.host, 15e-3 + 3);
  plan.graphs = true;
  const PredictedStep graphs = predict_step(plan, kDevice, reach);
  EXPECT_DOUBLE_EQ(graphs.gaps, 7.5 + 3);
  EXPECT_DOUBLE_EQ(graphs.host, 15e-4 + 3);
}

// Products are counted by their kind, whatever the names of the operations.
TEST(CountedProducts, AreKnownByTheirKind) {
  Ledger ledger;
  ledger.record("gate", OperationKind::Product, {.calls = 1, .flops = 100});
  ledger.record("cached", OperationKind::Attention, {.calls = 1, .flops = 20});
  ledger.record("linear_rescale", OperationKind::Memory, {.calls = 1, .flops = 3});
  ledger.record("dp.all_reduce", OperationKind::Collective, {.calls = 1, .moved = 50});
  EXPECT_EQ(counted_products(ledger), 120);
}

}  // namespace
}  // namespace weft
