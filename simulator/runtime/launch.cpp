// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "simulator/machine/launch.h"
#include "simulator/ptx/readable_name.h"
#include "simulator/runtime/device.h"

namespace weft::cuda_device {
namespace {

constexpr double kMicroseconds = 5;  // the simulated time of any launch: an invented figure

bool fits(Dim dim, uint32_t x, uint32_t y, uint32_t z) {
  return dim.x >= 1 && dim.y >= 1 && dim.z >= 1 && dim.x <= x && dim.y <= y && dim.z <= z;
}

Status check_limits(const Kernel& kernel, Dim grid, Dim block, size_t shared_bytes, size_t shared_limit) {
  using Limits = DeviceLimits;
  if (!fits(grid, Limits::kGridX, Limits::kGridY, Limits::kGridZ)) return Status::InvalidConfiguration;
  if (!fits(block, Limits::kBlockX, Limits::kBlockY, Limits::kBlockZ)) return Status::InvalidConfiguration;
  if (block.size() > Limits::kThreadsPerBlock) return Status::InvalidConfiguration;
  if (block.size() > kernel.max_threads) return Status::LaunchOutOfResources;  // more than __launch_bounds__ allows
  return shared_bytes > shared_limit ? Status::InvalidValue : Status::Success;
}

std::vector<std::byte> packed(const Kernel& kernel, void** arguments) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (size_t k = 0; k < kernel.parameters.size(); ++k)
    std::memcpy(bytes.data() + kernel.parameters[k].offset, arguments[k], kernel.parameters[k].bytes);
  return bytes;
}

// CUDA_MODULE_LOADING=EAGER: every kernel is loaded with the device. As in the real runtime, a program may still set it
// before it uses a device, when its kernels are registered long since.
bool loads_eagerly() {
  static const bool eager = [] {
    const char* loading = std::getenv("CUDA_MODULE_LOADING");
    return loading && std::string_view(loading) == "EAGER";
  }();
  return eager;
}

// A first launch loads its kernel, for which the driver may wait for the device. A collective on it waits for the other
// ranks, and they may be waiting to load in turn.
void load(Simulator& all, Function& function, int device) {
  if (loads_eagerly() || !function.loaded.insert(device).second || all.collectives_under_way[device] == 0) return;
  all.reports.add(ReportKind::Runtime, "the first launch of " + readable_name(function.name) +
                                           " loads it while a collective of NCCL is under way on device " +
                                           std::to_string(device) +
                                           ", and each may wait for the other: set CUDA_MODULE_LOADING=EAGER");
}

}  // namespace

std::shared_ptr<const Kernel> kernel_of(Simulator& all, const void* function, int device) {
  const Function* found = all.programs.function(function);
  if (!found) return nullptr;
  try {
    return all.programs.kernel(*found, device);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

bool has_code(const Simulator& all) { return all.settings.capability >= 80; }

size_t dynamic_shared_limit(Simulator& all, const void* function, int device) {
  const auto kernel = kernel_of(all, function, device);
  const auto& asked = all.programs.function(function)->dynamic_shared_most;
  if (const auto found = asked.find(device); found != asked.end()) return found->second;
  return DeviceLimits::kSharedPerBlock - std::min(DeviceLimits::kSharedPerBlock, kernel->shared_bytes);
}

Status set_dynamic_shared_limit(Simulator& all, const void* function, int device, int bytes) {
  const auto kernel = kernel_of(all, function, device);
  if (!kernel) return Status::InvalidDeviceFunction;
  if (bytes < 0 || static_cast<size_t>(bytes) + kernel->shared_bytes > all.multiprocessor().shared_per_block_opt_in())
    return Status::InvalidValue;
  all.programs.function(function)->dynamic_shared_most[device] = static_cast<size_t>(bytes);
  return Status::Success;
}

int blocks_per_multiprocessor(const Simulator& all, const Kernel& kernel, int threads, size_t dynamic_shared_bytes) {
  using Limits = DeviceLimits;
  const Limits::Multiprocessor& has = all.multiprocessor();
  if (threads < 1 || static_cast<uint32_t>(threads) > kernel.max_threads) return 0;
  const int whole_warps = (threads + Limits::kWarp - 1) / Limits::kWarp * Limits::kWarp;
  const size_t shared = kernel.shared_bytes + dynamic_shared_bytes + Limits::kSharedReserved;
  return std::min({has.blocks, has.threads / whole_warps, static_cast<int>(has.shared / shared)});
}

Status launch(Simulator& all, const void* function, Dim grid, Dim block, void** arguments, size_t shared_bytes,
              Stream& stream) {
  const auto kernel = kernel_of(all, function, stream.device);
  if (!kernel) return Status::InvalidDeviceFunction;
  if (!has_code(all)) return Status::NoKernelImage;
  const size_t limit = dynamic_shared_limit(all, function, stream.device);
  if (const Status status = check_limits(*kernel, grid, block, shared_bytes, limit); status != Status::Success)
    return status;
  load(all, *all.programs.function(function), stream.device);
  const uint64_t number = all.count_launch();
  if (number == all.settings.fail_launch) return Status::LaunchOutOfResources;
  const bool fails = number == all.settings.fail_kernel;

  Launch what{.kernel = kernel,
              .grid = grid,
              .block = block,
              .parameters = packed(*kernel, arguments),
              .dynamic_shared_bytes = shared_bytes,
              .device = stream.device,
              .environment = all.settings.environment};
  all.enqueue(
      stream, "launch of " + readable_name(kernel->name),
      [&all, fails, what = std::move(what)](OpId op) {
        if (fails) return all.fail(what.device, Status::LaunchFailure);
        Launch now = what;
        now.op = op;
        const Counters cost = run_launch(now, all.memory, all.schedule.random());
        all.counters += cost;
        all.kernels[readable_name(now.kernel->name)].add(now, cost);
      },
      kMicroseconds);
  return Status::Success;
}

}  // namespace weft::cuda_device
