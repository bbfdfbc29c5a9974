#include "parallel/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/log.h"
#include "parallel/mpi_communicator.h"
#include "parallel/mpi_node.h"

namespace weft {
namespace {

std::optional<int> stated_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int stated = text ? std::atoi(text) : 0;
  return stated > 0 ? std::optional<int>(stated) : std::nullopt;
}

// What the ranks of this machine may run on, and which of them this one is.
struct LocalRanks {
  std::vector<ProcessorSet> masks;
  size_t me = 0;
};

LocalRanks local_ranks(const NodeRanks& node) {
  static_assert(std::is_trivially_copyable_v<ProcessorSet>);
  LocalRanks local{.masks = std::vector<ProcessorSet>(static_cast<size_t>(node.ranks)),
                   .me = static_cast<size_t>(node.rank)};
  const ProcessorSet mine = allowed_processors();
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, local.masks.data(), sizeof mine, MPI_BYTE, node.comm.get()),
            "MPI_Allgather");
  return local;
}

// mpirun binds each of two ranks to one core unless told otherwise, which leaves most of a machine idle.
void warn_if_few_processors(const LocalRanks& local) {
  ProcessorSet all;
  for (const ProcessorSet& mask : local.masks) all.add(mask);
  const auto online = sysconf(_SC_NPROCESSORS_ONLN);
  if (stated_threads() || 2L * all.size() > online) return;
  log_info(
      "the {} ranks of {} may use {} of its {} processors ({}); where mpirun bound them, --bind-to none frees them",
      local.masks.size(), host_name(), all.size(), online, all.text());
}

// Ranks exchange what lies in host memory.
Device device_for(DeviceChoice choice, int world_size) {
  if (world_size == 1) return choose_device(choice);
  require<ConfigError>(choice != DeviceChoice::Cuda,
                       "device: cuda on {} ranks: this version exchanges nothing between devices; use one rank, or "
                       "device: cpu",
                       world_size);
  return {};
}

}  // namespace

int threads_for_rank(std::span<const ProcessorSet> masks, size_t me) {
  return stated_threads().value_or(fair_threads(masks, me));
}

int threads_alone() {
  const ProcessorSet mine = allowed_processors();
  return threads_for_rank({&mine, 1}, 0);
}

Session::Session(int tp, const std::optional<PhaseBudgets>& budgets, DeviceChoice device)
    : heartbeat_(std::make_shared<Heartbeat>()) {
  reserve_ = std::make_unique<char[]>(size_t{64} << 10);
  const LauncherInfo launcher = find_launcher();
  if (budgets) watchdog_ = std::make_unique<Watchdog>(heartbeat_, WatchdogOptions{.budgets = *budgets});
  LocalRanks local{.masks = {allowed_processors()}};
  if (launcher.present) {
    mpi_ = std::make_unique<MpiEnvironment>(launcher);
    rank_ = mpi_->rank();
    world_size_ = mpi_->size();
    NodeRanks node = ranks_of_this_node();
    local = local_ranks(node);
    if (watchdog_) watchdog_->join(rank_, node.rank, std::move(node.page));
  }
  start_logging(rank_, world_size_);
  if (launcher.present) warn_if_few_processors(local);
  const MeshLayout layout = layout_for(world_size_, tp);
  mesh_.emplace(mpi_ ? mpi_mesh(layout, heartbeat_) : Mesh::single(heartbeat_));
  context_ = std::make_unique<Context>(device_for(device, world_size_), threads_for_rank(local.masks, local.me));
  context_->on_progress([heartbeat = heartbeat_] { heartbeat->beat(); });
}

void Session::set_budgets(const PhaseBudgets& budgets) {
  if (watchdog_) watchdog_->set_budgets(budgets);
}

ExitCode Session::run(const std::function<ExitCode()>& body) {
  if (world_size_ == 1) return body();
  try {
    return body();
  } catch (const Error& error) {
    reserve_.reset();
    fail(error.code(), describe(error));
  } catch (const std::exception& error) {
    reserve_.reset();
    fail(ExitCode::Internal, describe(error));
  }
}

void Session::fail(ExitCode code, const std::string& text) {
  // If several ranks fail, of one cause or as a consequence, the first one's report counts; its end ends the others.
  if (watchdog_ && !watchdog_->first_to_report()) std::this_thread::sleep_for(std::chrono::seconds(3));
  log_error("{}{}", rank_ == 0 ? fmt::format("[rank 0 {}] ", host_name()) : "", text);
  MpiEnvironment::abort(static_cast<int>(code));
}

}  // namespace weft
