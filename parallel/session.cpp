// SPDX-License-Identifier: Apache-2.0
#include "parallel/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/process/exit_file.h"
#include "kernels/device/ids.h"
#include "parallel/agree.h"
#include "parallel/mpi/communicator.h"
#include "parallel/mpi/node.h"
#include "parallel/nccl/communicator.h"
#include "parallel/watch/progress_beats.h"
#include "parallel/watch/world_status.h"

namespace weft {
namespace {

constexpr double kMeetingTakes = 5;  // seconds

std::optional<int> stated_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int stated = text ? std::atoi(text) : 0;
  return stated > 0 ? std::optional<int>(stated) : std::nullopt;
}

int agreed_threads(std::optional<int64_t> stated, const LocalRanks& local) {
  const std::optional<int> environment = stated_threads();
  if (!stated) return threads_for_rank(local);
  if (!environment || *environment == *stated) return static_cast<int>(*stated);
  throw ConfigError(
      fmt::format("threads: the job states {}, and OMP_NUM_THREADS is {} on {}", *stated, *environment, host_name()),
      fmt::format("unset OMP_NUM_THREADS, or set it to {}", *stated));
}

LocalRanks this_rank_alone() { return {.masks = {allowed_processors()}, .quotas = {processor_quota()}}; }

template <class Block>
std::vector<Block> of_all(const NodeRanks& node, const Block& mine) {
  static_assert(std::is_trivially_copyable_v<Block>);
  std::vector<Block> all(static_cast<size_t>(node.ranks));
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, node.comm.get()),
            "MPI_Allgather");
  return all;
}

LocalRanks local_ranks(const NodeRanks& node) {
  return {.masks = of_all(node, allowed_processors()),
          .quotas = of_all(node, processor_quota()),
          .me = static_cast<size_t>(node.rank)};
}

// By default mpirun binds each of two ranks to one core, which leaves most of a machine idle.
void warn_if_few_processors(const LocalRanks& local) {
  ProcessorSet all;
  for (const ProcessorSet& mask : local.masks) all.add(mask);
  const auto online = sysconf(_SC_NPROCESSORS_ONLN);
  if (stated_threads() || 2L * all.size() > online) return;
  log_info("the {} ranks of {} may use {} of its {} processors ({}); if mpirun bound them, --bind-to none frees them",
           local.masks.size(), host_name(), all.size(), online, all.text());
}

void warn_of_silence() {
  log_warning(
      "the watchdog of {} hears nothing from rank 0's within {} s (does a firewall block UDP?); ranks of other nodes "
      "that hang are noticed late, and not named",
      host_name(), kMeetingTakes);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<SeenDevices> devices_of_all_ranks() {
  const auto world = mpi_communicator(MeshAxis::World, MpiComm::duplicate(MPI_COMM_WORLD));
  std::vector<SeenDevices> ranks;
  for (const std::string& text : gather_texts(*world, joined({host_name(), joined(cuda_device_ids())}))) {
    std::istringstream lines(text);
    SeenDevices seen;
    std::getline(lines, seen.host);
    for (std::string id; std::getline(lines, id);) {
      if (!id.empty()) seen.devices.push_back(id);
    }
    ranks.push_back(std::move(seen));
  }
  return ranks;
}

// The device of one of several ranks. All ranks decide alike, since each has the devices that every rank sees.
Device device_among_ranks(DeviceChoice choice, SharedDevices shared, size_t rank) {
  if (choice == DeviceChoice::Cpu) return {};
  const std::vector<SeenDevices> ranks = devices_of_all_ranks();
  const bool any = std::ranges::any_of(ranks, [](const SeenDevices& r) { return !r.devices.empty(); });
  if (!any) return choose_device(choice);
  try {
    require_nccl(static_cast<int>(ranks.size()));
    const std::vector<int> taken = divide_devices(ranks, shared);
    log_info("{}", device_map(ranks, taken));
    if (shares_device(ranks, taken, rank)) let_nccl_share_device(fmt::format("{} rank {}", ranks[rank].host, rank));
    return {DeviceKind::Cuda, taken[rank]};
  } catch (const ConfigError& error) {
    if (choice == DeviceChoice::Cuda) throw;
    const std::string why = error.what();
    log_info("device: auto: the CPU, not CUDA devices: {}", why.substr(0, why.find('\n')));
    return {};
  }
}

// The level at which all ranks compute: the stated one, or the highest that all of their processors have.
CpuLevel agreed_level(std::optional<CpuLevel> stated, bool among_ranks) {
  CpuLevel level = processor_level();
  if (stated) {
    level = *stated;
  } else if (among_ranks) {
    // The maximum of the negated level is the minimum.
    std::array<int, 2> ends = {-static_cast<int>(level), static_cast<int>(level)};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    const auto highest = static_cast<CpuLevel>(ends[1]);
    level = static_cast<CpuLevel>(-ends[0]);
    if (level != highest) {
      log_info("processors of ranks differ: all compute at {}, which the weakest has, though others have {}",
               enum_name(level), enum_name(highest));
    }
  }
  require_cpu_level(level, stated ? fmt::format("cpu_level on {}", host_name()) : "the level that all ranks have");
  return level;
}

}  // namespace

std::optional<PhaseBudgets> among_ranks(const PhaseBudgets& budgets) {
  if (!find_launcher().present) return std::nullopt;
  return budgets;
}

int threads_for_rank(const LocalRanks& local) {
  return stated_threads().value_or(
      std::min(fair_threads(local.masks, local.me), threads_within(local.quotas, local.me)));
}

int threads_alone() { return threads_for_rank(this_rank_alone()); }

Session::Session(const MeshLayout& replica, const std::optional<PhaseBudgets>& budgets, DeviceChoice device,
                 SharedDevices shared, std::optional<CpuLevel> level, std::optional<int64_t> threads)
    : heartbeat_(std::make_shared<Heartbeat>()) {
  reserve_ = std::make_unique<char[]>(size_t{64} << 10);
  const LauncherInfo launcher = find_launcher();
  if (budgets) {
    console().write_in_background();
    watchdog_ = std::make_unique<Watchdog>(heartbeat_, WatchdogOptions{.budgets = *budgets});
  }
  LocalRanks local = this_rank_alone();
  if (launcher.present) {
    mpi_ = std::make_unique<MpiEnvironment>(launcher);
    rank_ = mpi_->rank();
    world_size_ = mpi_->size();
    NodeRanks node = ranks_of_this_node();
    local = local_ranks(node);
    start_logging(rank_, world_size_);
    auto other_nodes = join_nodes(node);
    if (watchdog_) {
      watchdog_->join(rank_, node.rank, std::move(node.page));
      watchdog_->tell_other_nodes(std::move(other_nodes));
      if (!watchdog_->meets_rank0_within(kMeetingTakes)) warn_of_silence();
    }
  }
  if (launcher.present) warn_if_few_processors(local);
  const MeshLayout layout = layout_for(world_size_, replica);
  const Device mine =
      world_size_ > 1 ? device_among_ranks(device, shared, static_cast<size_t>(rank_)) : choose_device(device);
  context_ = std::make_unique<Context>(mine, agreed_threads(threads, local), agreed_level(level, mpi_ != nullptr));
  context_->on_progress(progress_beats(heartbeat_));
  mesh_.emplace(make_mesh(layout));
  if (const auto plane = mesh_->device_plane(); plane && watchdog_) {
    watchdog_->before_end([weak = std::weak_ptr(plane)] {
      if (const auto alive = weak.lock()) alive->abort();
    });
    // The first rank that fails reports: its abort makes the others fail too.
    plane->on_failure([watchdog = watchdog_.get()] {
      watchdog->first_to_report();
      return watchdog->standstill();
    });
  }
}

Mesh Session::make_mesh(const MeshLayout& layout) {
  if (!mpi_) return Mesh::single(heartbeat_);
  const bool on_devices = world_size_ > 1 && context_->device().kind == DeviceKind::Cuda;
  if (!on_devices) return mpi_mesh(layout, heartbeat_);
  return nccl_mesh(layout, rank_, mpi_host_plane, *context_, heartbeat_);
}

void Session::set_budgets(const PhaseBudgets& budgets) {
  if (watchdog_) watchdog_->set_budgets(budgets);
}

void Session::rely_on_rank0() {
  if (watchdog_) watchdog_->rely_on(0);
}

ExitCode Session::run(const std::function<ExitCode()>& body) {
  if (world_size_ == 1) return body();
  try {
    return body();
  } catch (const std::exception& error) {
    end(error);
  }
}

void Session::end(const std::exception& error) {
  reserve_.reset();
  const auto* ours = dynamic_cast<const Error*>(&error);
  fail(ours ? ours->code() : ExitCode::Internal, describe(error));
}

void Session::fail(ExitCode code, const std::string& text) {
  // If several ranks fail, for one cause or one after another, only the first one reports; its exit ends the others.
  if (watchdog_ && !watchdog_->first_to_report()) std::this_thread::sleep_for(std::chrono::seconds(3));
  const bool alone = world_size_ == 1;
  log_error("{}{}", rank_ == 0 && !alone ? fmt::format("[rank 0 {}] ", host_name()) : "", text);
  write_exit_file(static_cast<int>(code), alone ? text : fmt::format("rank {} on {}: {}", rank_, host_name(), text));
  if (mpi_) MpiEnvironment::abort(static_cast<int>(code));
  console().flush();
  std::_Exit(static_cast<int>(code));
}

}  // namespace weft
