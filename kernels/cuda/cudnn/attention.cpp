// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention.h"

#include "base/log.h"
#include "kernels/cuda/cudnn/log_sum.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

void* first_of(const Tensor& tensor, const WindowLayout& at) {
  return tensor ? tensor.device_data<BFloat16>() + at.first : nullptr;
}

// The tensors that forward and backward both have.
template <class Args>
AttentionPointers pointers_of(const Args& args, const AttentionLayout& at) {
  const Tensor &queries = args.qkv ? args.qkv : args.q, &keys = args.qkv ? args.qkv : args.kv;
  return {.query = first_of(queries, at.query),
          .key = first_of(keys, at.key),
          .value = first_of(keys, at.value),
          .out = first_of(args.out, at.out)};
}

// cuDNN has kernels for the tensor cores of sm_90, which weft's own do not use.
bool favors_library(int device) { return compute_capability(device) >= tuning::kLibraryAttentionCapability; }

// Backward's workspace: the library's own, then log_sum as the library reads it.
struct BackwardScratch {
  std::byte* library;
  float* log_sum;
  BackwardScratch(Scratch& scratch, const AttentionPlan& plan, const AttentionBackward& args)
      : library(scratch.take<std::byte>(static_cast<int64_t>(plan.workspace()))),
        log_sum(scratch.take<float>(args.log_sum.elements())) {}
};

}  // namespace

// Where nothing was asked for, nothing is said of what is not there.
void LibraryAttention::choose(AttentionChoice choice) {
  asked_ = choice == AttentionChoice::Cudnn;
  const bool wanted = asked_ || (choice == AttentionChoice::Auto && favors_library(stream_.device()));
  if (!wanted) return use(nullptr);
  try {
    use(open_cudnn(stream_));
    log_info("attention: {} if sequences have one length, else weft's own kernels", name());
  } catch (const CudnnRefusal& refusal) {
    use(nullptr);
    if (asked_) log_warning("attention: weft's own kernels, not cuDNN: {}", refusal.what());
  }
}

void LibraryAttention::use(std::unique_ptr<AttentionPlans> plans) {
  stream_.finish();  // plans that are destroyed now may be at work
  built_.clear();
  captured_.clear();
  plans_ = std::move(plans);
  warned_ = false;
}

void LibraryAttention::warn_once(const std::string& reason) {
  if (asked_ && !warned_) log_warning("attention: weft's own kernels instead of {}: {}", name(), reason);
  warned_ = true;
}

// Backward's workspace grows with the square of a length: where nobody asked for it, it has a limit.
std::unique_ptr<AttentionPlan> LibraryAttention::build(const AttentionWindows& windows) {
  if (built_.size() >= tuning::kMostPlans) {
    stream_.finish();  // some plans may be at work
    built_.clear();
  }
  try {
    std::unique_ptr<AttentionPlan> plan = plans_->build(windows);
    const bool too_much = !asked_ && plan->workspace() > tuning::kMostAttentionWorkspace;
    return too_much ? nullptr : std::move(plan);
  } catch (const CudnnRefusal& refusal) {
    warn_once(refusal.what());
    return nullptr;
  }
}

template <class Args>
AttentionPlan* LibraryAttention::plan_of(const Args& args) {
  if (!plans_) return nullptr;
  if (const char* reason = beyond_cudnn(args)) {
    warn_once(reason);
    return nullptr;
  }
  const AttentionWindows windows = windows_of(args);
  const auto known = built_.find(windows);
  if (known != built_.end()) return known->second.get();
  std::shared_ptr<AttentionPlan> plan = build(windows);
  return (built_[windows] = std::move(plan)).get();
}

size_t LibraryAttention::workspace(const AttentionForward& args) {
  const AttentionPlan* const plan = plan_of(args);
  return plan ? plan->workspace() : 0;
}

size_t LibraryAttention::workspace(const AttentionBackward& args) {
  const AttentionPlan* const plan = plan_of(args);
  return plan ? scratch_bytes([&](Scratch& scratch) { BackwardScratch(scratch, *plan, args); }) : 0;
}

bool LibraryAttention::run(const AttentionWindows& windows, const AttentionPointers& pointers, void* workspace) {
  select_device(stream_.device());
  const std::shared_ptr<AttentionPlan> plan = built_.at(windows);
  if (stream_.capturing()) captured_.insert(plan);
  try {
    plan->run(pointers, workspace);
    return true;
  } catch (const CudnnRefusal& refusal) {
    warn_once(refusal.what());
    built_[windows] = nullptr;
    return false;
  }
}

bool LibraryAttention::run(const AttentionForward& args, Scratch scratch) {
  AttentionPlan* const plan = plan_of(args);
  if (!plan) return false;
  const AttentionWindows windows = windows_of(args);
  AttentionPointers pointers = pointers_of(args, layout_of(windows));
  pointers.log_sum = args.log_sum.device_data<float>();
  return run(windows, pointers, scratch.take<std::byte>(static_cast<int64_t>(plan->workspace())));
}

bool LibraryAttention::run(const AttentionBackward& args, Scratch scratch) {
  AttentionPlan* const plan = plan_of(args);
  if (!plan) return false;
  const AttentionWindows windows = windows_of(args);
  const AttentionLayout at = layout_of(windows);
  const BackwardScratch pieces(scratch, *plan, args);
  pack_log_sum(stream_, args.log_sum.device_data<float>(), windows.heads, windows.sequences, windows.queries,
               pieces.log_sum);
  const Tensor &dqueries = args.qkv ? args.dqkv : args.dq, &dkeys = args.qkv ? args.dqkv : args.dkv;
  AttentionPointers pointers = pointers_of(args, at);
  pointers.log_sum = pieces.log_sum;
  pointers.dout = first_of(args.dout, at.out);
  pointers.dquery = first_of(dqueries, at.query);
  pointers.dkey = first_of(dkeys, at.key);
  pointers.dvalue = first_of(dkeys, at.value);
  return run(windows, pointers, pieces.library);
}

}  // namespace weft::cuda
