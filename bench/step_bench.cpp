// SPDX-License-Identifier: Apache-2.0
#include "bench/step_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/clock.h"
#include "base/process/machine.h"
#include "job/dataset_checks.h"
#include "kernels/context.h"
#include "kernels/device/devices.h"
#include "plan/device_model.h"
#include "plan/model_flops.h"
#include "trainer/step/training_setup.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLearningRate = 1e-5;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double wait_seconds(const Communicator& axis) { return axis.traffic().total().wait_seconds; }

class Bench {
 public:
  Bench(Context& context, Mesh& mesh, const JobConfig& job, const SyntheticData& data, const BenchOptions& options)
      : context_(context),
        mesh_(mesh),
        options_(options),
        setup_(context, mesh, job, data.vocabularies),
        loader_(make_loader(job, mesh, context, data.plan, data.reader)),
        seed_(job.seed) {
    check_leaves(job, *data.plan, 0, mesh.dp().size());
    setup_.parameters().initialise(static_cast<uint64_t>(job.seed));
  }

  Transformer& model() { return setup_.model(); }

  void run(BenchReport& report) {
    mesh_.world().barrier();
    for (int64_t i = 0; i < options_.warmup; ++i) train_step();
    context_.finish();
    waited_ = loader_.waited_seconds();
    context_.ledger().clear();
    for (int64_t i = 0; i < options_.steps; ++i) {
      const auto [parts, step] = train_step();
      report.steps.push_back(parts);
      report.target_tokens.push_back(step.outcome.target_tokens);
      report.rows.push_back(step.outcome.tokens);
      report.loss = step.outcome.loss;
      report.skipped += step.outcome.skipped;
      report.replayed += step.outcome.replayed;
      report.captured += step.outcome.captured;
    }
    finish_last(report.steps);
    report.rank_compute = by_rank(report.mean().compute);
    report.rank_exposed = by_rank(report.mean().exposed);
  }

  void time_operations(BenchReport& report) {
    context_.ledger().clear();
    context_.time_operations(true);
    for (int64_t i = 0; i < options_.steps; ++i) train_step();
    context_.time_operations(false);
    report.operations = context_.ledger().entries();
  }

 private:
  std::pair<StepParts, StepReport> train_step() {
    const auto start = Clock::now();
    const double waited = mesh_.waited_seconds(), waited_for_world = wait_seconds(mesh_.world());
    const auto batches = loader_.next();
    StepClocks clocks{.data = loader_.waited_seconds() - waited_};
    waited_ += clocks.data;
    StepState state{.learning_rate = kLearningRate};
    state.dropout_key = dropout_key(seed_, index_);
    StepReport step = setup_.step().run(*batches, state, updates_, clocks.data, {}, loader_.ready());
    ++index_;
    clocks.total = seconds_since(start);
    clocks.waited = mesh_.waited_seconds() - waited;
    clocks.waited_for_world = wait_seconds(mesh_.world()) - waited_for_world;
    clocks.update = step.times.update;
    if (context_.device().kind == DeviceKind::Cuda) clocks.device_waited = step.times.exposed;
    return {step_parts(clocks), step};
  }

  // The host sees the end of a step when the next step reads its sums; for the last step it has to wait.
  void finish_last(std::vector<StepParts>& steps) {
    const auto start = Clock::now();
    context_.finish();
    if (steps.empty()) return;
    steps.back().update += seconds_since(start);
    steps.back().total += seconds_since(start);
  }

  std::vector<double> by_rank(double mine) {
    std::vector<double> all(static_cast<size_t>(mesh_.world().size()), 0);
    all[static_cast<size_t>(mesh_.world().rank())] = mine;
    mesh_.world().all_reduce_host(all, ReduceOp::Sum);
    return all;
  }

  Context& context_;
  Mesh& mesh_;
  BenchOptions options_;
  TrainingSetup setup_;
  Loader loader_;
  int64_t seed_, index_ = 0, updates_ = 0;
  double waited_ = 0;
};

// The peak of all ranks together, which measure at the same time. In a separate context, whose memory is not the job's.
PeakGflops peak_of_ranks(const Context& job, Mesh& mesh, DType dtype) {
  Context context(job.device(), job.threads());
  mesh.world().barrier();
  PeakGflops peak = measure_peak_gflops(context, dtype);
  peak.gflops = mesh.world().all_reduce_host(peak.gflops, ReduceOp::Sum);
  return peak;
}

void count_flops(BenchReport& report, const JobConfig& job, Context& context, Mesh& mesh) {
  const auto tokens = std::accumulate(report.target_tokens.begin(), report.target_tokens.end(), int64_t{0});
  const double counted = mesh.world().all_reduce_host(counted_products(context.ledger()), ReduceOp::Sum);
  ModelFlops counts = model_flops(job, report.parameters, tokens, counted);
  report.model_flops = counts.flops;
  report.formula = std::move(counts.formula);
}

std::string matmul_library_of(const Context& context) {
  for (const auto& [what, name] : context.fingerprint()) {
    if (what == "matmul") return name;
  }
  return "unknown";
}

std::string processor_of(const Context& context) {
  if (context.device().kind != DeviceKind::Cuda) return processor_name();
  return cuda_devices().names.at(context.device().index);
}

}  // namespace

BenchReport bench_steps(Context& context, Mesh& mesh, const JobConfig& job, const SyntheticData& data,
                        const BenchOptions& options) {
  BenchReport report{.task = std::string(enum_name(job.task)),
                     .precision = std::string(enum_name(job.train.precision)),
                     .library = matmul_library_of(context),
                     .processor = processor_of(context),
                     .layout = mesh.layout(),
                     .threads = context.threads(),
                     .data = "random tokens, lengths of " + data.lengths,
                     .vocabulary = data.vocabularies.target,
                     .warmup = options.warmup};
  {
    Bench bench(context, mesh, job, data, options);
    report.parameters = bench.model().parameters().global_elements();
    bench.run(report);
    count_flops(report, job, context, mesh);
    double peaks[] = {static_cast<double>(context.memory().use().peak), static_cast<double>(peak_resident_bytes())};
    mesh.world().all_reduce_host(peaks, ReduceOp::Max);
    report.stated_gflops = mesh.world().size() * stated_gflops(report.processor, job.train.precision);
    report.peak_tensor_bytes = static_cast<int64_t>(peaks[0]);
    report.peak_process_bytes = static_cast<int64_t>(peaks[1]);
    if (options.operations) bench.time_operations(report);
  }
  if (options.peak) {
    report.peak = peak_of_ranks(context, mesh, compute_dtype(job.train.precision));
  }
  return report;
}

StepParts step_parts(const StepClocks& clocks) {
  const double exposed = clocks.device_waited.value_or(clocks.waited - clocks.waited_for_world);
  return {.total = clocks.total,
          .data = clocks.data,
          .compute = clocks.total - clocks.data - exposed - clocks.waited_for_world - clocks.update,
          .exposed = exposed,
          .control = clocks.waited_for_world,
          .update = clocks.update};
}

double BenchReport::seconds() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const StepParts& parts) { return sum + parts.total; });
}

double BenchReport::tokens_per_second() const {
  const auto tokens = std::accumulate(target_tokens.begin(), target_tokens.end(), int64_t{0});
  return static_cast<double>(tokens) / seconds();
}

double BenchReport::median_seconds() const {
  std::vector<double> totals;
  for (const StepParts& parts : steps) totals.push_back(parts.total);
  return median(totals);
}

double BenchReport::median_tokens_per_second() const {
  std::vector<double> rates;
  for (size_t i = 0; i < steps.size(); ++i) rates.push_back(static_cast<double>(target_tokens[i]) / steps[i].total);
  return median(rates);
}

double BenchReport::gflops() const { return model_flops * 1e-9 / seconds(); }
double BenchReport::utilisation() const { return stated_gflops > 0 ? gflops() / stated_gflops : 0; }
double BenchReport::peak_share() const { return peak.gflops > 0 ? gflops() / peak.gflops : 0; }

StepParts BenchReport::mean() const {
  StepParts sum;
  for (const StepParts& parts : steps) {
    for (const auto part : {&StepParts::total, &StepParts::data, &StepParts::compute, &StepParts::exposed,
                            &StepParts::control, &StepParts::update})
      sum.*part += parts.*part / static_cast<double>(steps.size());
  }
  return sum;
}

}  // namespace weft
