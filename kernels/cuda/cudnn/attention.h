// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>

#include "kernels/backend/scratch.h"
#include "kernels/cuda/cudnn/attention_plan.h"
#include "kernels/device/devices.h"

namespace weft::cuda {

// Attention by a library, if a job asks for it, for calls that it computes as weft's own kernels would. Nothing needs
// it: calls that it refuses, for any reason, run on weft's own kernels, and the first reason is logged.
class LibraryAttention {
 public:
  explicit LibraryAttention(const Stream& stream) : stream_(stream) {}

  // If a library is asked for, logs in one line what computes attention from now on.
  void choose(AttentionChoice choice);
  // Null: weft's own kernels alone.
  void use(std::unique_ptr<AttentionPlans> plans);
  std::string name() const { return plans_ ? plans_->name() : "weft"; }

  // Bytes that run() works in.
  size_t workspace(const AttentionForward& args);
  size_t workspace(const AttentionBackward& args);
  // Queues the call, or returns false: weft's own kernel has to compute it.
  bool run(const AttentionForward& args, Scratch scratch);
  bool run(const AttentionBackward& args, Scratch scratch);

 private:
  template <class Args>
  AttentionPlan* plan_of(const Args& args);
  std::unique_ptr<AttentionPlan> build(const AttentionWindows& windows);
  bool run(const AttentionWindows& windows, AttentionPlan& plan, const AttentionPointers& pointers, void* workspace);
  void warn_once(const std::string& reason);

  const Stream& stream_;
  std::unique_ptr<AttentionPlans> plans_;
  std::map<AttentionWindows, std::unique_ptr<AttentionPlan>> built_;  // null: refused
  bool warned_ = false;
};

}  // namespace weft::cuda
