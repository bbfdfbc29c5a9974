// SPDX-License-Identifier: Apache-2.0
// Findings of the simulated device about a program.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/machine/dim.h"

namespace weft::cuda_device {

enum class ReportKind {
  Bounds,         // no allocation there, past its end, or another device's
  Alignment,      // an address that is no multiple of the access's width
  UseAfterFree,   // also: used before a stream-ordered allocation is known to have been made
  Uninitialised,  // read, but never written
  Race,           // two accesses, one of them a write, that nothing orders
  Barrier,        // a barrier, shuffle, vote or matrix instruction that not all of its lanes or warps reach
  AsyncCopy,      // a cp.async that was never waited for
  Trap,           // trap, or an assertion of the kernel
  HostAccess,     // the host touched device memory, or pinned memory while a copy is in flight
  Runtime,        // streams, events, libraries: a call that a real device forbids or that cannot end
};

std::string_view name_of(ReportKind kind);

// One finding. `sentence` contains everything; the other members give tests the place. Findings outside of kernels have
// no place.
struct Report {
  ReportKind kind = ReportKind::Runtime;
  std::string
      sentence;  // "race: layer_norm.cu:41: layer_norm block (3,0,0) thread (64,0,0): reads ... [ld.shared.f32 ...]"
  std::string kernel;       // its name as in the PTX
  std::string source;       // "layer_norm.cu:41", if nvcc recorded lines (-lineinfo)
  std::string instruction;  // as in the PTX
  Dim block, thread;
};

// Collects findings, or ends the program at the first one with its sentence on standard error and exit status 86, since
// a program that runs on after a race proves nothing.
class Reports {
 public:
  static constexpr int kExitStatus = 86;
  static constexpr size_t kMost = 100;  // kept findings: one for each instruction of a kernel, or sentence

  enum class Policy { Stop, Collect };
  explicit Reports(Policy policy = policy_of_environment()) : policy_(policy) {}

  // WEFT_CUDA_DEVICE_REPORTS=collect keeps findings, for programs that are wrong on purpose; else Stop.
  static Policy policy_of_environment();

  void add(Report report);
  void add(ReportKind kind, std::string sentence) { add(Report{.kind = kind, .sentence = std::move(sentence)}); }

  std::vector<Report> all() const;
  size_t count(ReportKind kind) const;
  bool empty() const { return all().empty(); }
  void clear();
  void set_policy(Policy policy) { policy_ = policy; }

 private:
  mutable std::mutex mutex_;
  Policy policy_;
  std::vector<Report> reports_;
};

}  // namespace weft::cuda_device
