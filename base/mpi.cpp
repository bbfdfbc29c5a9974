// SPDX-License-Identifier: Apache-2.0
#include "base/mpi.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/process/new_thread.h"

namespace weft {
namespace {

constexpr std::chrono::seconds kAbortTakes(10);

std::optional<int> integer_variable(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && value >= 0 ? std::optional<int>(static_cast<int>(value)) : std::nullopt;
}

}  // namespace

LauncherInfo find_launcher() {
  const auto stated = [](const char* size, const char* rank, const char* name) {
    return LauncherInfo{true, integer_variable(size), integer_variable(rank), name};
  };
  if (std::getenv("OMPI_COMM_WORLD_SIZE")) return stated("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun");
  if (std::getenv("MV2_COMM_WORLD_SIZE")) return stated("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "mpirun");
  // A batch script's own shell has SLURM_NTASKS too; a step's task alone has SLURM_STEP_ID and a process id.
  // srun may offer PMI or PMIx too, so its variables are checked before these.
  if (std::getenv("SLURM_STEP_ID") && std::getenv("SLURM_PROCID")) {
    const char* size = std::getenv("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    return stated(size, "SLURM_PROCID", "srun");
  }
  if (std::getenv("PMI_SIZE")) return stated("PMI_SIZE", "PMI_RANK", "a PMI launcher");
  if (std::getenv("PMIX_RANK")) return {true, std::nullopt, integer_variable("PMIX_RANK"), "a PMIx launcher"};
  return {};
}

namespace {
[[noreturn]] void wrong_world(int seen, int stated, const std::string& launcher) {
  throw ConfigError(fmt::format("MPI sees {} of the {} ranks that {} started", seen, stated, launcher),
                    "use `srun --mpi=pmix` or mpirun of the MPI that weft was built with");
}
}  // namespace

MpiEnvironment::MpiEnvironment(const LauncherInfo& launcher) : unwinding_(std::uncaught_exceptions()) {
  // In these cases some libraries end the process in MPI_Init with an error of their own, so the checks precede it.
  const bool offered = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK") || std::getenv("PMI_FD");
  if (launcher.name == "srun" && launcher.world_size.value_or(1) > 1 && !offered) {
    wrong_world(1, *launcher.world_size, launcher.name);
  }
  if (std::getenv("OMPI_COMM_WORLD_SIZE") && mpi_library_version().starts_with("MPICH")) {
    throw ConfigError(
        fmt::format("weft was built with {}, but the mpirun that started it is Open MPI's", mpi_library_version()),
        "use the mpirun of that MPICH");
  }
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const bool agrees = !launcher.world_size || *launcher.world_size == size_;
  if (agrees && provided >= MPI_THREAD_FUNNELED) return;
  MPI_Finalize();
  if (!agrees) wrong_world(size_, *launcher.world_size, launcher.name);
  throw ConfigError("this MPI library gives no thread support (MPI_THREAD_FUNNELED is needed)");
}

MpiEnvironment::~MpiEnvironment() {
  if (std::uncaught_exceptions() <= unwinding_) MPI_Finalize();
}

void MpiEnvironment::abort(int exit_code) {
  console().flush();
  // A launcher that stands in a write to its own console does not answer. Without a thread nothing waits for it.
  try {
    new_thread([exit_code] {
      std::this_thread::sleep_for(kAbortTakes);
      std::_Exit(exit_code);
    }).detach();
  } catch (const Error&) {
    std::_Exit(exit_code);
  }
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
  // The first words of a description: "Open MPI v4.1.4, package: ...", or "MPICH Version:      4.3.2" and further
  // lines.
  const std::string all(text.data(), length);
  std::istringstream words(all.substr(0, all.find_first_of(",\n")));
  std::string version;
  for (std::string word; words >> word;) {
    if (word != "Version:") version += (version.empty() ? "" : " ") + word;
  }
  return version;
}

}  // namespace weft
