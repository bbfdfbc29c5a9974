#pragma once
#include <memory>
#include <optional>

#include "base/mpi.h"
#include "kernels/context.h"
#include "parallel/mesh.h"

namespace weft {

// This process among the ranks of its job: MPI where a launcher started it (and only then), the mesh, the device.
class Session {
 public:
  // `tp` ranks share a model. ConfigError where the layout does not fit the world.
  explicit Session(int tp);
  // A session for commands that one process runs alone.
  static Session alone() { return Session(1); }

  Mesh& mesh() { return *mesh_; }
  Context& context() { return *context_; }
  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  bool speaks() const { return rank_ == 0; }

 private:
  std::unique_ptr<MpiEnvironment> mpi_;
  int rank_ = 0;
  int world_size_ = 1;
  std::optional<Mesh> mesh_;
  std::unique_ptr<Context> context_;
};

// Threads for one rank: OMP_NUM_THREADS where it is set; the processors that the rank is bound to; or its share of the
// machine among `local_ranks` ranks that are not bound.
int threads_for_rank(int local_ranks);

}  // namespace weft
