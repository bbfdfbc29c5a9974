// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/mpi.h"
#include "base/output.h"
#include "base/process/machine.h"
#include "base/progress.h"
#include "launch/build_info.h"
#include "launch/commands.h"
#include "parallel/agree.h"
#include "parallel/session.h"

namespace weft {
namespace {

double gib(double bytes) { return bytes / (1 << 30); }

void print_rows(const std::vector<InfoRow>& rows) { print(format_rows(rows)); }

std::string quota_text(const ProcessorQuota& quota) {
  if (!quota.limited()) return {};
  return fmt::format(", for as much time as {:g} of them have: its control group limits it", quota.processors);
}

std::vector<InfoRow> machine_rows() {
  const ProcessorSet mine = allowed_processors();
  const double page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return {
      {"machine", host_name()},
      {"processor", processor_name()},
      {"processors", fmt::format("{} online, {} available to this process ({}){}; a single rank would use {}",
                                 sysconf(_SC_NPROCESSORS_ONLN), mine.size(), mine.text(), quota_text(processor_quota()),
                                 counted(threads_alone(), "thread"))},
      {"memory",
       fmt::format("{:.1f} GiB, {:.1f} GiB of it free", gib(page * static_cast<double>(sysconf(_SC_PHYS_PAGES))),
                   gib(page * static_cast<double>(sysconf(_SC_AVPHYS_PAGES))))},
      {"disk here", fmt::format("{:.1f} GiB free", gib(static_cast<double>(free_bytes("."))))},
  };
}

const char* thread_level() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  switch (level) {
    case MPI_THREAD_FUNNELED:
      return "FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "SERIALIZED";
    case MPI_THREAD_MULTIPLE:
      return "MULTIPLE";
    default:
      return "SINGLE";
  }
}

// Under a launcher: prints where each rank runs and with how many threads it would compute.
void report_ranks(const LauncherInfo& launcher) {
  Session session({}, among_ranks({}), DeviceChoice::Cpu);
  const std::string mine = fmt::format("{}: {}, processors {}", host_name(),
                                       counted(session.context().threads(), "thread"), allowed_processors().text());
  const auto lines = gather_texts(session.mesh().world(), mine);
  if (!session.is_rank0()) return;
  std::vector<InfoRow> rows = build_rows();
  for (const auto& more : {device_link_rows(), machine_rows()}) rows.insert(rows.end(), more.begin(), more.end());
  rows.push_back({"launcher", fmt::format("{}: {} ranks", launcher.name, session.world_size())});
  rows.push_back({"MPI thread level", fmt::format("{} (FUNNELED is needed)", thread_level())});
  for (size_t rank = 0; rank < lines.size(); ++rank) rows.push_back({fmt::format("rank {}", rank), lines[rank]});
  print_rows(rows);
}

ExitCode doctor() {
  const LauncherInfo launcher = find_launcher();
  if (launcher.present) {
    report_ranks(launcher);
    return ExitCode::Done;
  }
  // MPI may end the process if it cannot start, so everything that is known without MPI is printed first.
  print_rows(build_rows());
  print_rows(device_link_rows());
  print_rows(machine_rows());
  print_rows({{"launcher", "none: commands run as one rank; MPI is started for this report only"}});
  const MpiEnvironment mpi(launcher);
  print_rows({{"MPI thread level", fmt::format("{} (FUNNELED is needed)", thread_level())}});
  return ExitCode::Done;
}

}  // namespace

void add_doctor_command(Command& app, Action& action) {
  Command command = app.add_command("doctor", "Show what this machine and this build support.", Workers::Ranks);
  command.footer(
      "Under a launcher it starts MPI and lists the threads and processors of each rank:\n"
      "  mpirun -np 2 --bind-to none weft doctor");
  command.on_parsed([&action] { action = doctor; });
}

}  // namespace weft
