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
double shortest_milliseconds(const ProductQueue& queue, const FusedGemm& gemm, const Product& product,
                             const cublasLtMatmulAlgo_t& algorithm) {
  constexpr double kRefused = std::numeric_limits<double>::infinity();
  if (queue.run(gemm, product, algorithm) != CUBLAS_STATUS_SUCCESS) return kRefused;
  std::vector<std::unique_ptr<Event>> marks;
  const auto mark = [&] {
    marks.push_back(std::make_unique<Event>(queue.stream.device(), Event::Kind::Time));
    queue.stream.record(*marks.back());
  };
  mark();
  for (int i = 0; i < tuning::kProductRepeats; ++i) {
    if (queue.run(gemm, product, algorithm) != CUBLAS_STATUS_SUCCESS) return kRefused;
    mark();
  }
  marks.back()->wait();
  double shortest = kRefused;
  for (size_t i = 1; i < marks.size(); ++i) shortest = std::min(shortest, marks[i]->milliseconds_since(*marks[i - 1]));
  return shortest;
}

}  // namespace

std::optional<cublasLtMatmulAlgo_t> fastest(const ProductQueue& queue, const FusedGemm& gemm, bool tf32,
                                            std::span<const cublasLtMatmulAlgo_t> algorithms) {
  if (algorithms.size() == 1) return algorithms.front();
  const size_t bytes = static_cast<size_t>(gemm.m * gemm.n) * size_of(gemm.output);
  const bool saves = gemm.gelu == FusedGelu::Forward;
  const int device = queue.stream.device();
  const TrialMemory result(device, bytes), saved(device, saves ? bytes : 0);
  if (!result.there() || !saved.there()) return std::nullopt;
  FusedGemm trial = gemm;
  trial.c = result.get();
  if (saves) trial.saved = saved.get();
  if (gemm.add) check(cudaMemsetAsync(trial.c, 0, bytes, queue.stream.get()), "clearing a result to add to");
  const Product product(queue.blas, trial, tf32);
  double least = std::numeric_limits<double>::infinity();
  const cublasLtMatmulAlgo_t* best = &algorithms.front();
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    const double milliseconds = shortest_milliseconds(queue, trial, product, algorithm);
    if (milliseconds < least) least = milliseconds, best = &algorithm;
  }
  return *best;
}

}  // namespace weft::cuda
