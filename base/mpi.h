// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <optional>
#include <string>

namespace weft {

// The launcher as environment variables describe it. Read before MPI is initialised.
struct LauncherInfo {
  bool present = false;           // mpirun, srun or another PMI(x) server started this process
  std::optional<int> world_size;  // as the launcher states it
  std::optional<int> rank;        // the rank of this process, as the launcher states it
  std::string name;               // "mpirun", "srun", ...
};
LauncherInfo find_launcher();

// MPI_Init_thread(FUNNELED) and MPI_Finalize as one object that main() holds. Only the thread that made it calls MPI.
// ConfigError if MPI's world is not the size that the launcher stated ("MPI sees 1 of N"), or if srun started
// several tasks and offers none of the interfaces by which MPI would find them, or if Open MPI's mpirun started an
// MPICH. The destructor does not finalise MPI during unwinding: finalising waits for the other ranks, aborting does
// not.
class MpiEnvironment {
 public:
  explicit MpiEnvironment(const LauncherInfo& launcher);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Ends every rank of the job at once, as soon as what was logged is written or its console is given up; for errors
  // that the other ranks cannot detect.
  [[noreturn]] static void abort(int exit_code);

 private:
  int rank_ = 0;
  int size_ = 1;
  int unwinding_ = 0;  // exceptions in flight at construction
};

// A communicator handle, freed on destruction.
class MpiComm {
 public:
  explicit MpiComm(MPI_Comm comm) : comm_(comm) {}
  ~MpiComm();
  MpiComm(MpiComm&& other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  MpiComm& operator=(MpiComm&&) = delete;
  MpiComm(const MpiComm&) = delete;
  MPI_Comm get() const { return comm_; }
  static MpiComm duplicate(MPI_Comm comm);
  static MpiComm split(MPI_Comm comm, int color, int key);

 private:
  MPI_Comm comm_;
};

// Throws a PeerError with MPI's own message if `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* call);
std::string mpi_library_version();

}  // namespace weft
