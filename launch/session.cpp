#include "launch/session.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "parallel/mpi_communicator.h"

namespace weft {

int threads_for_rank(int local_ranks) {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int stated = std::atoi(text);
    if (stated > 0) return stated;
  }
  const int online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int mine = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : online;
  // Fewer than the machine has: a launcher bound the rank to processors of its own.
  return mine < online ? std::max(1, mine) : std::max(1, online / std::max(1, local_ranks));
}

namespace {
int ranks_on_this_node() {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  const MpiComm owned(node);
  int size = 1;
  MPI_Comm_size(node, &size);
  return size;
}
}  // namespace

Session::Session(int tp) {
  const LauncherInfo launcher = find_launcher();
  int local_ranks = 1;
  if (launcher.present) {
    mpi_ = std::make_unique<MpiEnvironment>(launcher);
    rank_ = mpi_->rank();
    world_size_ = mpi_->size();
    local_ranks = ranks_on_this_node();
  }
  start_logging(rank_, world_size_);
  const MeshLayout layout = layout_for(world_size_, tp);
  mesh_.emplace(mpi_ ? mpi_mesh(layout) : Mesh::single());
  context_ = std::make_unique<Context>(Device{}, threads_for_rank(local_ranks));
}

}  // namespace weft
