#include "launch/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "parallel/mpi_communicator.h"

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

LocalRanks local_ranks() {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  const MpiComm owned(node);
  int size = 1, rank = 0;
  MPI_Comm_size(node, &size);
  MPI_Comm_rank(node, &rank);
  static_assert(std::is_trivially_copyable_v<ProcessorSet>);
  LocalRanks local{.masks = std::vector<ProcessorSet>(static_cast<size_t>(size)), .me = static_cast<size_t>(rank)};
  const ProcessorSet mine = allowed_processors();
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, local.masks.data(), sizeof mine, MPI_BYTE, node),
            "MPI_Allgather");
  return local;
}

// mpirun binds each of two ranks to one core unless told otherwise, which leaves most of a machine idle.
void say_if_bound_to_few(const LocalRanks& local) {
  ProcessorSet all;
  for (const ProcessorSet& mask : local.masks) all.add(mask);
  const auto online = sysconf(_SC_NPROCESSORS_ONLN);
  if (stated_threads() || 2 * all.size() > online) return;
  log_info(
      "the {} ranks of {} may use {} of its {} processors ({}); where mpirun bound them, --bind-to none frees them",
      local.masks.size(), host_name(), all.size(), online, all.text());
}

}  // namespace

int threads_for_rank(std::span<const ProcessorSet> masks, size_t me) {
  return stated_threads().value_or(fair_threads(masks, me));
}

int threads_alone() {
  const ProcessorSet mine = allowed_processors();
  return threads_for_rank({&mine, 1}, 0);
}

Session::Session(int tp) {
  const LauncherInfo launcher = find_launcher();
  LocalRanks local{.masks = {allowed_processors()}};
  if (launcher.present) {
    mpi_ = std::make_unique<MpiEnvironment>(launcher);
    rank_ = mpi_->rank();
    world_size_ = mpi_->size();
    local = local_ranks();
  }
  start_logging(rank_, world_size_);
  if (launcher.present) say_if_bound_to_few(local);
  const MeshLayout layout = layout_for(world_size_, tp);
  mesh_.emplace(mpi_ ? mpi_mesh(layout) : Mesh::single());
  context_ = std::make_unique<Context>(Device{}, threads_for_rank(local.masks, local.me));
}

}  // namespace weft
