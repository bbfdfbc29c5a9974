// SPDX-License-Identifier: Apache-2.0
#include <cudnn.h>
#include <dlfcn.h>

#include "base/process/shared_library.h"
#include "kernels/cuda/cudnn/attention_plan.h"
#include "kernels/cuda/runtime/devices.h"

// cuDNN's headers for graphs look its functions up in the handle of this name.
namespace cudnn_frontend {
extern void* cudnn_dlhandle;
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace weft::cuda {
namespace {

constexpr size_t kOldest = 91200;  // older versions know one layout of the softmax's statistics

std::string file() { return shared_library_file("cudnn", CUDNN_MAJOR); }

// The library stays open to the end of the process, since its loaded kernels must.
void* opened() {
  static void* const library = [] {
    void* found = dlopen(file().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!found) throw CudnnRefusal(dlerror());
    return cudnn_frontend::cudnn_dlhandle = found;
  }();
  return library;
}

template <class Function>
Function* function(const char* name) {
  void* const address = dlsym(opened(), name);
  if (!address) throw CudnnRefusal(fmt::format("{} lacks {}", file(), name));
  return reinterpret_cast<Function*>(address);
}

void check(cudnnStatus_t answer, const char* call) {
  if (answer == CUDNN_STATUS_SUCCESS) return;
  throw CudnnRefusal(
      fmt::format("{}: {}", call, function<decltype(cudnnGetErrorString)>("cudnnGetErrorString")(answer)));
}

size_t version() { return function<decltype(cudnnGetVersion)>("cudnnGetVersion")(); }

class CudnnPlans : public AttentionPlans {
 public:
  explicit CudnnPlans(const Stream& stream) : name_(cudnn_version()) {
    require<CudnnRefusal>(version() >= kOldest, "{} is too old: 9.12 or newer is needed", name_);
    select_device(stream.device());
    capability_ = compute_capability(stream.device());
    cudnnHandle_t made = nullptr;
    check(function<decltype(cudnnCreate)>("cudnnCreate")(&made), "cudnnCreate");
    handle_ = {made, function<decltype(cudnnDestroy)>("cudnnDestroy")};
    check(function<decltype(cudnnSetStream)>("cudnnSetStream")(made, stream.get()), "cudnnSetStream");
  }

  std::string name() const override { return name_; }
  std::unique_ptr<AttentionPlan> build(const AttentionWindows& windows) override {
    return build_cudnn_plan(windows, {.handle = handle_.get(), .capability = capability_});
  }

 private:
  std::string name_;
  std::unique_ptr<cudnnContext, decltype(&cudnnDestroy)> handle_{nullptr, nullptr};
  int capability_ = 0;
};

}  // namespace

std::string cudnn_version() {
  const size_t v = version();
  return fmt::format("cuDNN {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

std::unique_ptr<AttentionPlans> open_cudnn(const Stream& stream) { return std::make_unique<CudnnPlans>(stream); }

}  // namespace weft::cuda
