// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/mpi.h"
#include "base/process/processor_quota.h"
#include "base/process/processors.h"
#include "kernels/context.h"
#include "kernels/device/devices.h"
#include "parallel/device_places.h"
#include "parallel/mesh.h"
#include "parallel/watch/watchdog.h"

namespace weft {

// This process among the ranks of its job: MPI if a launcher started it (and only then), the mesh, the device, and
// a watchdog from before MPI starts if `budgets` are given. A process with a watchdog does not wait for its console.
class Session {
 public:
  // The ranks divide into copies of `replica`. ConfigError if `replica` does not divide the world, or there is no such
  // device. Several ranks on CUDA devices take one each, as device_places.h describes; with DeviceChoice::Auto the
  // ranks compute on the CPU unless every one of them finds a CUDA device. If ranks may share devices, NCCL is made to
  // treat those that do as ranks of different machines. On the CPU the ranks compute at `level`, or at the highest that
  // the processors of all of them have. ConfigError if `level` is more than a rank's processor has,
  // or if OMP_NUM_THREADS differs from the stated `threads` of a rank.
  explicit Session(const MeshLayout& replica, const std::optional<PhaseBudgets>& budgets = std::nullopt,
                   DeviceChoice device = DeviceChoice::Auto, SharedDevices shared = SharedDevices::Refused,
                   std::optional<CpuLevel> level = std::nullopt, std::optional<int64_t> threads = std::nullopt);
  // A session for commands that one process runs alone.
  static Session alone(DeviceChoice device = DeviceChoice::Auto) { return Session({}, std::nullopt, device); }

  // Runs the work of all ranks. An error of one of several ranks ends all ranks with its exit code and is printed once
  // per node, by the first rank that has an error and with the rank's name; a single rank throws it to the caller.
  ExitCode run(const std::function<ExitCode()>& body);

  // Ends the process, and with it all ranks, with the error's message and exit code as run() does, and at once: nothing
  // is destroyed, so that no thread is waited for.
  [[noreturn]] void end(const std::exception& error);

  // Changes the watchdog's budgets, if there is one.
  void set_budgets(const PhaseBudgets& budgets);
  // This rank works for rank 0 and waits for it in no collective (Watchdog::rely_on).
  void rely_on_rank0();

  Mesh& mesh() { return *mesh_; }
  Context& context() { return *context_; }
  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  bool is_rank0() const { return rank_ == 0; }

 private:
  Mesh make_mesh(const MeshLayout& layout);
  [[noreturn]] void fail(ExitCode code, const std::string& text);

  std::unique_ptr<char[]> reserve_;  // memory for an error's message, even after memory has run out
  std::shared_ptr<Heartbeat> heartbeat_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<MpiEnvironment> mpi_;
  int rank_ = 0;
  int world_size_ = 1;
  std::unique_ptr<Context> context_;
  std::optional<Mesh> mesh_;  // after context_, whose queues it uses
};

// The processors that the ranks of this machine may run on, the limits of their control groups, and the place of this
// rank among them.
struct LocalRanks {
  std::vector<ProcessorSet> masks;
  std::vector<ProcessorQuota> quotas;
  size_t me = 0;
};

// The budgets of a command that has a watchdog only under a launcher: a process that is alone keeps nobody waiting.
std::optional<PhaseBudgets> among_ranks(const PhaseBudgets& budgets);
// Threads for this rank: OMP_NUM_THREADS if it is set, else the rank's fair share of the processors that it may run on
// (base/process/processors.h), as far as its control group lets it run on them at once.
int threads_for_rank(const LocalRanks& local);
// Threads for a process that is alone on its machine.
int threads_alone();

}  // namespace weft
