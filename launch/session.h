#pragma once
#include <memory>
#include <optional>
#include <span>

#include "base/mpi.h"
#include "base/processors.h"
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

// Threads for this rank: OMP_NUM_THREADS where it is set, else its fair share of the processors that it may run on
// (base/processors.h). `masks` are those of the ranks on this machine, `me` is the place of this one among them.
int threads_for_rank(std::span<const ProcessorSet> masks, size_t me);
// The same for a process that is alone on its machine.
int threads_alone();

}  // namespace weft
