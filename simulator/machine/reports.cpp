// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/reports.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::cuda_device {

std::string_view name_of(ReportKind kind) {
  switch (kind) {
    case ReportKind::Bounds:
      return "out of bounds";
    case ReportKind::Alignment:
      return "misaligned";
    case ReportKind::UseAfterFree:
      return "use after free";
    case ReportKind::Uninitialised:
      return "uninitialised";
    case ReportKind::Race:
      return "race";
    case ReportKind::Barrier:
      return "barrier";
    case ReportKind::AsyncCopy:
      return "cp.async";
    case ReportKind::Trap:
      return "trap";
    case ReportKind::HostAccess:
      return "host access";
    case ReportKind::Runtime:
      return "runtime";
  }
  return "?";
}

namespace {
// The first block and thread with a kernel's finding are enough.
bool is_same_finding(const Report& a, const Report& b) {
  if (a.kind != b.kind || a.kernel != b.kernel) return false;
  return a.kernel.empty() ? a.sentence == b.sentence : a.source == b.source && a.instruction == b.instruction;
}
}  // namespace

Reports::Policy Reports::policy_of_environment() {
  const char* asked = std::getenv("WEFT_CUDA_DEVICE_REPORTS");
  return asked && std::strcmp(asked, "collect") == 0 ? Policy::Collect : Policy::Stop;
}

void Reports::add(Report report) {
  report.sentence = std::string(name_of(report.kind)) + ": " + report.sentence;
  const std::lock_guard lock(mutex_);
  if (policy_ == Policy::Stop) {
    std::fflush(stdout);
    std::fprintf(stderr, "simulated CUDA device: %s\n", report.sentence.c_str());
    _exit(kExitStatus);  // no destructors: other threads are in the middle of their work
  }
  const bool known = std::ranges::any_of(reports_, [&](const Report& r) { return is_same_finding(r, report); });
  if (!known && reports_.size() < kMost) reports_.push_back(std::move(report));
}

std::vector<Report> Reports::all() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

size_t Reports::count(ReportKind kind) const {
  const std::lock_guard lock(mutex_);
  return size_t(std::ranges::count(reports_, kind, &Report::kind));
}

void Reports::clear() {
  const std::lock_guard lock(mutex_);
  reports_.clear();
}

}  // namespace weft::cuda_device
