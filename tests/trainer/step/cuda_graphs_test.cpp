// SPDX-License-Identifier: Apache-2.0
// Steps that are replayed as CUDA graphs have the bits of steps that are not, on one device and on several.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/support/cuda_devices.h"
#include "tests/trainer/fixture/copy_under_way.h"
#include "tests/trainer/fixture/covering_layouts.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/step/kept_shapes.h"

namespace weft {
namespace {

using namespace test;
using test::Layout;

// An epoch of the case's windows is eight steps of one shape and one of another. The first step of each shape is not
// replayed. An epoch of its pairs is four steps of nearly one size and a small one.
constexpr int64_t kOneShape = 4, kBothShapes = 10, kPairs = 8;
int64_t replays_of(const LayoutCase& what, const Layout& layout) {
  if (!what.seq2seq) return what.steps - (what.steps > 8 ? 2 : 1);
  KeptShapes kept(32);
  const auto plan = what.plan();
  Position position;
  int64_t replays = 0;
  for (int64_t i = 0; i < what.steps; ++i, position = plan->after(position)) {
    const StepBatches batches =
        read_step(plan->step(position.epoch, position.step), PatternReader(what.vocabulary, false), 0, layout.dp,
                  layout.micro_rows, Padding::Buckets);
    replays += kept.take(batches.shape, batches.bucket);
  }
  EXPECT_GE(replays, 2) << "of steps whose sequences differ";
  return replays;
}

std::vector<LayoutRun> runs(const LayoutCase& what, Layout layout, bool graphs) {
  layout.graphs = graphs;
  const MeshLayout grid{.dp = layout.dp, .tp = layout.tp};
  std::vector<LayoutRun> all(static_cast<size_t>(grid.ranks()));
  run_hosts_in_process(grid,
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         Mesh mesh = grid.ranks() == 1 ? Mesh::single() : nccl_mesh(grid, rank, host, context);
                         all[static_cast<size_t>(rank)] = train(what, layout, mesh, context);
                       },
                       {.timeout_seconds = 500});
  return all;
}

class CudaStepGraphs : public testing::TestWithParam<Cell> {};

TEST_P(CudaStepGraphs, GiveTheBitsOfStepsWithout) {
  const auto& [model, what, layout] = GetParam();
  if (const std::string lacks = lacks_devices(layout.dp * layout.tp); !lacks.empty()) GTEST_SKIP() << lacks;
  const std::vector<LayoutRun> plain = runs(what, layout, false), replayed = runs(what, layout, true);
  for (size_t rank = 0; rank < plain.size(); ++rank) {
    SCOPED_TRACE(rank);
    EXPECT_EQ(plain[rank].replayed, 0);
    EXPECT_EQ(replayed[rank].replayed, replays_of(what, layout));
    EXPECT_EQ(replayed[rank].losses, plain[rank].losses);
    EXPECT_EQ(replayed[rank].norms, plain[rank].norms);
    EXPECT_EQ(replayed[rank].values, plain[rank].values);
    EXPECT_EQ(replayed[rank].downloads, plain[rank].downloads);
    EXPECT_EQ(replayed[rank].dp_moved, plain[rank].dp_moved);
    EXPECT_EQ(replayed[rank].tp_moved, plain[rank].tp_moved);
  }
}

std::vector<Cell> cells() {
  const LayoutCase brief{.vocabulary = 200, .steps = kOneShape};  // 128 rows on every rank
  const LayoutCase pairs{.seq2seq = true, .similar = true, .steps = kPairs};
  LayoutCase pairs_bf16 = pairs;
  pairs_bf16.precision = Precision::Bf16;
  const LoraConfig adapters{.rank = 4, .dropout = 0.1, .targets = {"attention.*", "ffn.*"}};
  const ZeroStage optimizer = ZeroStage::Optimizer, gradients = ZeroStage::Gradients;
  return {{"Gpt", {.steps = kBothShapes}, {}},
          {"GptBf16", {.steps = kOneShape, .precision = Precision::Bf16}, {.micro_rows = 70}},
          {"GptLora", {.steps = kOneShape, .lora = adapters}, {.recompute = Recompute::Block}},
          {"GptBothShapes", {.vocabulary = 200, .steps = kBothShapes}, {.dp = 2}},
          {"Gpt", brief, {.tp = 2}},
          {"GptBf16", {.vocabulary = 200, .steps = kOneShape, .precision = Precision::Bf16}, {.tp = 2}},
          {"Gpt", brief, {.dp = 2, .zero = gradients, .micro_rows = 40}},
          {"Gpt", brief, {.dp = 2, .gradients = GradientDType::Bf16}},
          {"Gpt", brief, {.dp = 2, .zero = gradients, .micro_rows = 40, .gradients = GradientDType::Bf16}},
          {"Gpt", brief, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true, .recompute = Recompute::Attention}},
          {"Pairs", pairs, {}},
          {"PairsBf16", pairs_bf16, {.recompute = Recompute::Block, .micro_rows = 120}},
          {"Pairs", pairs, {.dp = 2, .zero = gradients, .micro_rows = 60}},
          {"Pairs", pairs, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true}}};
}

INSTANTIATE_TEST_SUITE_P(Layouts, CudaStepGraphs, testing::ValuesIn(cells()), cell_name);

// A skipped step changes nothing, and replayed steps continue after it.
TEST(CudaGraphRun, AStepThatIsNotFiniteIsSkipped) {
  const auto run = [](bool graphs) {
    Context cuda(Device{DeviceKind::Cuda});
    Mesh mesh = Mesh::single();
    LayoutModel trained({}, {.graphs = graphs}, mesh, cuda);
    const Tensor bias = trained.model().parameters().master().data.slice(0, 1);
    std::vector<uint64_t> hashes;
    std::vector<double> losses;
    for (uint64_t i = 0; i < 6; ++i) {
      float kept = 0;
      download(cuda, bias, std::span(&kept, 1));
      const float nan = std::numeric_limits<float>::quiet_NaN();
      if (i == 3) upload(cuda, std::span(&nan, 1), bias);
      const StepReport report = trained.step({.learning_rate = 3e-3, .dropout_key = i});
      EXPECT_EQ(report.outcome.skipped, i == 3);
      EXPECT_EQ(report.outcome.replayed, graphs && i > 0);
      if (i == 3) upload(cuda, std::span<const float>(&kept, 1), bias);
      if (i != 3) losses.push_back(report.outcome.loss);
      for (const uint64_t hash : value_hashes(cuda, trained.model().parameters())) hashes.push_back(hash);
    }
    const size_t each = hashes.size() / 6;
    EXPECT_TRUE(std::equal(hashes.begin() + 2 * each, hashes.begin() + 3 * each, hashes.begin() + 3 * each));
    return std::pair(hashes, losses);
  };
  EXPECT_EQ(run(true), run(false));
}

// The graph uses the memory of the first step, so that later steps allocate nothing.
TEST(CudaGraphRun, AReplayedStepAllocatesNothing) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({.precision = Precision::Bf16}, {.graphs = true}, mesh, cuda);
  for (uint64_t i = 0; i < 3; ++i) trained.step({.learning_rate = 1e-3, .dropout_key = i});
  const size_t held = cuda.memory().use().held();
  cuda.memory().reset_peak();
  for (uint64_t i = 3; i < 6; ++i)
    EXPECT_TRUE(trained.step({.learning_rate = 1e-3, .dropout_key = i}).outcome.replayed);
  EXPECT_EQ(cuda.memory().use().peak, held);
}

// The ninth step has another shape and needs memory of its own, of which the rest of the device's is taken.
TEST(CudaGraphRun, MemoryThatAnotherStepLacksIsGivenBack) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({}, {.graphs = true}, mesh, cuda);
  const auto step = [&](uint64_t i) { return trained.step({.learning_rate = 1e-3, .dropout_key = i}).outcome; };
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(step(i).captured, i == 1);
  std::vector<Tensor> rest;
  for (size_t bytes = size_t{16} << 30; bytes >= size_t{16} << 10; bytes /= 2) {
    while (cuda.memory().room() >= 2 * bytes) rest.push_back(cuda.empty({static_cast<int64_t>(bytes) / 4}, DType::F32));
  }
  EXPECT_FALSE(step(8).replayed);
  EXPECT_FALSE(step(9).replayed);  // its shape is known, and there is no room for a graph
  rest.clear();
  EXPECT_TRUE(step(10).captured);
}

// Only the device waits for a snapshot's copy: its graph of the update comes after it.
TEST(CudaGraphRun, TheUpdateComesAfterTheSnapshotOfWhatItChanges) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({}, {.graphs = true}, mesh, cuda);
  for (uint64_t i = 0; i < 4; ++i) trained.step({.learning_rate = 1e-3, .dropout_key = i});
  CopyUnderWay copy(cuda, trained.model().parameters().master().data);
  EXPECT_TRUE(trained.step({.learning_rate = 1e-3, .dropout_key = 4}).outcome.replayed);
  copy.expect_values_before();
}

// Values derived from the weights, such as the weights packed for decoding, depend on the version.
TEST(CudaGraphRun, AReplayedUpdateIsANewVersionOfTheWeights) {
  Context cuda(Device{DeviceKind::Cuda});
  Mesh mesh = Mesh::single();
  LayoutModel trained({}, {.graphs = true}, mesh, cuda);
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t before = trained.model().parameters().weights_version();
    EXPECT_EQ(trained.step({.learning_rate = 1e-3, .dropout_key = i}).outcome.replayed, i > 0);
    EXPECT_NE(trained.model().parameters().weights_version(), before);
  }
}

// The metrics and the tensors of a run, without its times.
struct Said {
  std::vector<std::string> metrics;
  std::vector<uint64_t> tensors;
  bool operator==(const Said&) const = default;
};

// A job whose run is a folder of this name.
JobConfig windows_job(const Scratch& scratch, const std::string& name) {
  JobConfig job = SmallRun(scratch, name).job();
  job.log.generations = {.every_steps = 3, .prompts = {"the "}, .temperatures = {0.0}, .max_tokens = 5};
  return job;
}

JobConfig pairs_job(const Scratch& scratch, const std::string& name) {
  JobConfig job = SmallRun(scratch, name).job();
  std::string text;
  for (int i = 0; i < 80; ++i) text += fmt::format("boat {0}\tboot {0}{1}\n", i * 7919 % 100, i % 3 == 0 ? " ja" : "");
  job.task = Task::Translation;
  job.data.format = TextFormat::Tsv;
  job.data.split = SplitRule::Hash;
  job.data.directory += "-pairs";
  job.data.train.files = {scratch.write(name + ".tsv", text)};
  job.tokenizer.specials = {"<s>", "</s>"}, job.tokenizer.bos = "<s>", job.tokenizer.eos = "</s>";
  job.model.encoder_layers = 1, job.model.max_length = 16;
  job.batch = {.sequences = 12};
  job.log.generations = {.every_steps = 3, .prompts = {"boat 7"}, .temperatures = {0.0}, .max_tokens = 5};
  prepare(job.text());
  return job;
}

// Trains, evaluates, generates and saves by turns; the run is interrupted after step 5 and resumed.
Said run_with(JobConfig job, GraphChoice first, GraphChoice resumed) {
  job.evaluation.every_steps = 2;
  struct BrokenOff {};
  const auto on_device = [&](GraphChoice graphs, const StepObserver& each) {
    job.train.graphs = graphs;
    check_job(job);
    Context cuda(Device{DeviceKind::Cuda});
    Mesh mesh = Mesh::single();
    Trainer(cuda, mesh, job).run({}, each);
  };
  EXPECT_THROW(on_device(first,
                         [](int64_t step) {
                           if (step == 5) throw BrokenOff();
                         }),
               BrokenOff);
  on_device(resumed, {});
  Said said{.tensors = tensor_hashes(checkpoint_path(job.run_directory() / "checkpoints", 8))};
  std::istringstream metrics(read_file(job.run_directory() / "metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) {
    const auto json = nlohmann::json::parse(line);
    for (const char* key : {"loss", "nll", "grad_norm", "padding"}) {
      if (json.contains(key)) said.metrics.push_back(json.at(key).dump());
    }
  }
  return said;
}

// Nothing tells the time of what is within a graph, so traced steps are queued operation by operation.
TEST(CudaGraphRun, TracedStepsHaveTheirOperations) {
  const Scratch scratch;
  const auto losses = [&](const std::string& name, const std::vector<int64_t>& trace) {
    SmallRun run(scratch, name);
    run.job().train.trace = trace;
    Context context({DeviceKind::Cuda, 0});
    run.train_on(context);
    std::vector<double> all;
    for (const auto& line : read_metrics(run.directory(), "train")) all.push_back(line["loss"]);
    return all;
  };
  EXPECT_EQ(losses("plain", {}), losses("traced", {4, 5}));
  const auto trace = nlohmann::json::parse(read_file(scratch / "traced" / "trace-4-5.json", 1 << 24));
  std::map<std::string, int> operations;
  double latest = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] != 10) continue;
    if (event["cat"] == "operation") ++operations[event["name"]];
    latest = std::max(latest, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(operations["adam_update"], 2);
  EXPECT_EQ(operations["cross_entropy"], 2);
  EXPECT_GE(operations["linear_forward"], 8);
  EXPECT_GT(latest, 0);
}

TEST(CudaGraphRun, TrainsEvaluatesSavesAndResumesAsWithout) {
  for (const auto& job : {windows_job, pairs_job}) {
    const Scratch scratch;
    const Said plain = run_with(job(scratch, "plain"), GraphChoice::Off, GraphChoice::Off);
    EXPECT_GE(plain.metrics.size(), 20u);
    EXPECT_EQ(run_with(job(scratch, "graphs"), GraphChoice::Auto, GraphChoice::Auto), plain);
    EXPECT_EQ(run_with(job(scratch, "changed"), GraphChoice::On, GraphChoice::Off), plain);
  }
}

}  // namespace
}  // namespace weft
