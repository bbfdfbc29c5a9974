#include <H5public.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/mpi.h"
#include "kernels/cpu/matmul.h"
#include "launch/commands.h"
#include "launch/session.h"

namespace weft {
namespace {

void row(const char* what, const std::string& value) { std::printf("%-22s %s\n", what, value.c_str()); }

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  hbool_t thread_safe = false;
  H5get_libversion(&major, &minor, &release);
  H5is_library_threadsafe(&thread_safe);
#ifdef H5_HAVE_PARALLEL
  const char* parallel = "parallel";
#else
  const char* parallel = "serial";
#endif
  return fmt::format("{}.{}.{}, {}, {}", major, minor, release, parallel,
                     thread_safe ? "thread-safe" : "not thread-safe");
}

ExitCode doctor() {
  row("weft", WEFT_VERSION);
  row("built from", WEFT_GIT_REVISION);
  row("compiler", WEFT_COMPILER);
  row("CUDA", "not in this build: training runs on the CPU");
  row("NCCL, cuDNN", "not in this build");
  row("matrix products", cpu::MatmulEngine::library());
  row("bf16 products", cpu::MatmulEngine(1).emulates_bf16() ? "emulated by rounding (slow)" : "native");
  row("MPI", mpi_library_version() + ", thread level FUNNELED asked for");
  row("HDF5", hdf5_version());
  row("processors",
      fmt::format("{} online; a rank alone would use {} threads", sysconf(_SC_NPROCESSORS_ONLN), threads_for_rank(1)));
  row("memory", fmt::format("{:.1f} GiB", static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                              static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30)));
  const LauncherInfo launcher = find_launcher();
  row("launcher", launcher.present ? launcher.name : "none: one rank, MPI is not started");
  return ExitCode::Done;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "What this machine and this build can do.");
  command->callback([&action] { action = doctor; });
}

}  // namespace weft
