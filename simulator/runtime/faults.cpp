// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/faults.h"

#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {
namespace {

struct sigaction& action_before() {
  static struct sigaction action;
  return action;
}

bool was_write(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // a bit of the page fault's error code
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit;
#else
  return context != nullptr;  // unknown: the stricter guess
#endif
}

// The program's own access faults, so the thread holds no lock of the simulator or of malloc, unless it passed the
// pointer to the simulator: then the lock is recursive.
void on_fault(int signal, siginfo_t* info, void* context) {
  Simulator& all = simulator();
  std::unique_lock lock(all.mutex);
  std::string wrong;
  if (all.pinned.admit(reinterpret_cast<uint64_t>(info->si_addr), was_write(context), wrong)) {
    if (!wrong.empty()) all.reports.add(ReportKind::HostAccess, wrong);
    return;
  }
  wrong = all.memory.explain_host_access(info->si_addr);
  if (!wrong.empty()) {
    all.reports.set_policy(Reports::Policy::Stop);  // the access cannot continue
    all.reports.add(ReportKind::HostAccess, wrong);
  }
  lock.unlock();
  sigaction(signal, &action_before(),
            nullptr);  // the access repeats, and ends the program as without the simulator
}

}  // namespace

void explain_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &action_before());
}

}  // namespace weft::cuda_device
