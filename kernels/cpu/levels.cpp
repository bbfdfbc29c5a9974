// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/levels.h"

#include <dnnl.h>

#include <mutex>
#include <optional>

#include "base/error.h"
#include "kernels/cpu/cpu_backend.h"

#ifdef WEFT_CPU_LEVELS
// Each is the level_entry.cpp of one level, and the only name of that level's code that the linker sees.
extern "C" weft::Backend* weft_cpu_backend_v3(int threads);
extern "C" weft::Backend* weft_cpu_backend_v4(int threads);
#endif

namespace weft::cpu {
namespace {

dnnl_cpu_isa_t instruction_set(CpuLevel level) {
  switch (level) {
    case CpuLevel::V2:
      return dnnl_cpu_isa_sse41;
    case CpuLevel::V3:
      return dnnl_cpu_isa_avx2;
    case CpuLevel::V4:
      return dnnl_cpu_isa_avx512_core;
    case CpuLevel::Bf16:
      return dnnl_cpu_isa_avx512_core_bf16;
    case CpuLevel::Amx:
      return dnnl_cpu_isa_avx512_core_amx;
  }
  throw InternalError("a level of processors has no instruction set of oneDNN");
}

}  // namespace

CpuLevel chosen_level(std::optional<CpuLevel> wanted) {
  static std::mutex mutex;
  static std::optional<CpuLevel> chosen;
  const std::lock_guard lock(mutex);
  if (chosen) return *chosen;
  chosen = wanted.value_or(processor_level());
  // At all that the machine has, oneDNN keeps to what the user's DNNL_MAX_CPU_ISA says.
  if (*chosen < machine_level()) {
    require<InternalError>(dnnl_set_max_cpu_isa(instruction_set(*chosen)) == dnnl_success,
                           "oneDNN was used before the level of the processor was chosen");
  }
  return *chosen;
}

std::unique_ptr<Backend> make_cpu_backend(int threads, std::optional<CpuLevel> wanted) {
  const CpuLevel level = chosen_level(wanted);
  require<InternalError>(level == wanted.value_or(level), "this process computes at {}, and cannot compute at {} too",
                         enum_name(level), enum_name(wanted.value_or(level)));
#ifdef WEFT_CPU_LEVELS
  if (level >= CpuLevel::V4) return std::unique_ptr<Backend>(weft_cpu_backend_v4(threads));
  if (level == CpuLevel::V3) return std::unique_ptr<Backend>(weft_cpu_backend_v3(threads));
#endif
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace weft::cpu
