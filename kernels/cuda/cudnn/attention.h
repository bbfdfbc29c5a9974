// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <set>
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

  // If a library computes attention from now on, or does not though it was asked for, one logged line says so.
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
  bool run(const AttentionWindows& windows, const AttentionPointers& pointers, void* workspace);
  void warn_once(const std::string& reason);

  const Stream& stream_;
  std::unique_ptr<AttentionPlans> plans_;
  std::map<AttentionWindows, std::shared_ptr<AttentionPlan>> built_;  // null: refused
  std::set<std::shared_ptr<AttentionPlan>> captured_;                 // graphs run their kernels
  bool asked_ = true;  // false: a job leaves the choice to weft, and reasons for it are not logged
  bool warned_ = false;
};

}  // namespace weft::cuda
