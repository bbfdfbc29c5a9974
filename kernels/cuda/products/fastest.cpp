// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/fastest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/runtime/device_allocator.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

// Device memory for measuring. It comes from the device and not from the pool, which would keep the blocks: each shape
// needs them only once.
class TrialMemory {
 public:
  TrialMemory(int device, size_t bytes)
      : allocator_(device_allocator(device)),
        block_(bytes > 0 ? allocator_->allocate(allocator_->block_size(bytes)) : MemoryBlock()),
        there_(block_.address || bytes == 0) {}
  ~TrialMemory() {
    if (block_.address) allocator_->release(block_);
  }
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  void* get() const { return block_.address; }
  bool there() const { return there_; }

 private:
  std::shared_ptr<Allocator> allocator_;
  MemoryBlock block_;
  bool there_;
};

// The first run loads the kernel and is not timed. All runs are queued before the host waits, so that the device never
// waits for the host.
double shortest_milliseconds(const Stream& stream, const FusedGemm& gemm, const Candidate& candidate) {
  constexpr double kRefused = std::numeric_limits<double>::infinity();
  if (candidate(gemm) != CUBLAS_STATUS_SUCCESS) return kRefused;
  std::vector<std::unique_ptr<Event>> marks;
  const auto mark = [&] {
    marks.push_back(std::make_unique<Event>(stream.device(), Event::Kind::Time));
    stream.record(*marks.back());
  };
  mark();
  for (int i = 0; i < tuning::kProductRepeats; ++i) {
    if (candidate(gemm) != CUBLAS_STATUS_SUCCESS) return kRefused;
    mark();
  }
  marks.back()->wait();
  double shortest = kRefused;
  for (size_t i = 1; i < marks.size(); ++i) shortest = std::min(shortest, marks[i]->milliseconds_since(*marks[i - 1]));
  return shortest;
}

}  // namespace

std::optional<size_t> fastest(const Stream& stream, const FusedGemm& gemm, std::span<const Candidate> candidates) {
  if (candidates.size() == 1) return 0;
  const size_t bytes = static_cast<size_t>(gemm.m * gemm.n) * size_of(gemm.output);
  const bool saves = gemm.gelu == FusedGelu::Forward;
  const TrialMemory result(stream.device(), bytes), saved(stream.device(), saves ? bytes : 0);
  if (!result.there() || !saved.there()) return std::nullopt;
  FusedGemm trial = gemm;
  trial.c = result.get();
  if (saves) trial.saved = saved.get();
  if (gemm.add) check(cudaMemsetAsync(trial.c, 0, bytes, stream.get()), "clearing a result to add to");
  double least = std::numeric_limits<double>::infinity();
  size_t best = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double milliseconds = shortest_milliseconds(stream, trial, candidates[i]);
    if (milliseconds < least) least = milliseconds, best = i;
  }
  return best;
}

}  // namespace weft::cuda
