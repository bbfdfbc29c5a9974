// SPDX-License-Identifier: Apache-2.0
// The processor time that data parallelism alone costs a rank, by the number of replicas: for the description of the
// plan at start, and for a step's share. Prints a list of JSON objects. Nothing is trained, and no other rank runs.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_slice.h"
#include "data/batches/batch_plan_windows.h"
#include "data/batches/loader.h"

namespace weft {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The median of `times` calls, in seconds of this thread's processor time.
template <class Work>
double median_seconds(int times, Work&& work) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const double began = processor_seconds();
    work(i);
    seconds.push_back(processor_seconds() - began);
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

class NoTokens : public SequenceReader {
 public:
  void read(const PlannedSequence&, std::span<int32_t>, std::span<int32_t>) const override {}
};

// Sentences of 4 to 43 tokens, in a pseudo-random order.
PairLengths sentences(int64_t pairs) {
  PairLengths lengths;
  uint32_t state = 1;
  for (int64_t i = 0; i < pairs; ++i) {
    state = state * 1664525U + 1013904223U;
    lengths.source.push_back(4 + static_cast<int32_t>((state >> 16) % 40));
    lengths.target.push_back(5 + static_cast<int32_t>((state >> 20) % 40));
  }
  return lengths;
}

void report(const char* what, const BatchPlan& plan, int64_t replicas, int64_t micro_batch_tokens, bool last) {
  const double start = median_seconds(1, [&](int) { describe_plan(plan, replicas, micro_batch_tokens); });
  const PlannedStep step = plan.step(0, 0);
  const double listed = median_seconds(5, [&](int i) { plan.step(0, i); });
  const double slice = median_seconds(5, [&](int) { slice_all(step, replicas); });
  const double share = median_seconds(5, [&](int) { read_step(step, NoTokens(), 0, replicas, micro_batch_tokens); });
  fmt::print(
      R"( {{"data": "{}", "replicas": {}, "sequences": {}, "plan_at_start_seconds": {:.6f}, "list_seconds": {:.6f}, )"
      R"("slice_seconds": {:.6f}, "share_seconds": {:.6f}}}{})"
      "\n",
      what, replicas, step.sequences.size(), start, listed, slice, share, last ? "" : ",");
}

void run() {
  fmt::print("[\n");
  for (const int64_t replicas : {64, 1024, 8192}) {
    // Four windows of 2,048 tokens a replica, as for GPT-3's sizes, and sentences for 4,096 tokens a replica.
    const auto windows =
        make_window_plan({.sequences = 4 * replicas, .context_length = 2048}, 2048 * 4 * replicas * 20 + 1, 1);
    report("windows", *windows, replicas, 4096, false);
    const auto pairs =
        make_pair_plan({.sequences = 100 * replicas, .order = BatchOrder::Bucketed}, sentences(100 * replicas * 6), 1);
    report("sentences", *pairs, replicas, 2048, replicas == 8192);
  }
  fmt::print("]\n");
}

}  // namespace
}  // namespace weft

int main() { weft::run(); }
