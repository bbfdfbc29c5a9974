#include "base/mpi.h"

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"

namespace weft {
namespace {

std::optional<int> integer_variable(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && value > 0 ? std::optional<int>(static_cast<int>(value)) : std::nullopt;
}

}  // namespace

LauncherInfo find_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) return {true, integer_variable("OMPI_COMM_WORLD_SIZE"), "mpirun"};
  if (std::getenv("PMI_SIZE")) return {true, integer_variable("PMI_SIZE"), "a PMI launcher"};
  // A batch script's own shell has SLURM_NTASKS too; a step's task alone has SLURM_STEP_ID and a process id.
  if (std::getenv("SLURM_STEP_ID") && std::getenv("SLURM_PROCID")) {
    return {true, integer_variable("SLURM_STEP_NUM_TASKS"), "srun"};
  }
  if (std::getenv("PMIX_RANK")) return {true, std::nullopt, "a PMIx launcher"};
  return {};
}

MpiEnvironment::MpiEnvironment(const LauncherInfo& launcher) {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const bool agrees = !launcher.world_size || *launcher.world_size == size_;
  if (agrees && provided >= MPI_THREAD_FUNNELED) return;
  const int stated = launcher.world_size.value_or(0);
  MPI_Finalize();
  if (!agrees) {
    throw ConfigError(fmt::format("MPI sees {} of the {} ranks that {} started", size_, stated, launcher.name),
                      "use `srun --mpi=pmix` or mpirun of the MPI that weft was built with");
  }
  throw ConfigError("this MPI library gives no thread support (MPI_THREAD_FUNNELED is needed)");
}

MpiEnvironment::~MpiEnvironment() { MPI_Finalize(); }

void MpiEnvironment::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

MpiComm::~MpiComm() {
  if (comm_ != MPI_COMM_NULL && comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
}

MpiComm MpiComm::duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return MpiComm(copy);
}

MpiComm MpiComm::split(MPI_Comm comm, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  return MpiComm(part);
}

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw PeerError(
      fmt::format("{}: {}", call, length ? std::string(text.data(), length) : fmt::format("error {}", code)));
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), length);
  return all.substr(0, all.find(','));
}

}  // namespace weft
