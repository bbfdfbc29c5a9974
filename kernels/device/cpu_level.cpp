// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/cpu_level.h"

#include <cpuid.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"

namespace weft {
namespace {

constexpr const char* kVariable = "WEFT_CPU_LEVEL";

// A process must ask Linux for the registers of AMX (https://docs.kernel.org/arch/x86/xstate.html); oneDNN asks too.
bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return (d & kBf16) && (d & kTile) && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

CpuLevel machine_level() {
  if (!__builtin_cpu_supports("x86-64-v3")) return CpuLevel::V2;
  if (!__builtin_cpu_supports("x86-64-v4")) return CpuLevel::V3;
  if (!__builtin_cpu_supports("avx512bf16")) return CpuLevel::V4;
  return has_amx() ? CpuLevel::Amx : CpuLevel::Bf16;
}

CpuLevel processor_level() {
  const CpuLevel machine = machine_level();
  const char* text = std::getenv(kVariable);
  if (!text || !*text) return machine;
  std::string names;
  for (const auto& [name, level] : EnumNames<CpuLevel>::kNames) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    if (name != text) continue;
    require<ConfigError>(level <= machine, "{}={}: the processor of this machine has {} at most", kVariable, text,
                         enum_name(machine));
    return level;
  }
  throw ConfigError(fmt::format("{}={}: this is no level of a processor; they are {}", kVariable, text, names));
}

CpuLevel lowest_level() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512CD__)
  return CpuLevel::V4;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
  return CpuLevel::V3;
#else
  return CpuLevel::V2;
#endif
}

std::string cpu_code_text() {
#ifdef WEFT_CPU_LEVELS
  return "code for v2, v3 and v4";
#else
  return fmt::format("compiled for {} alone", enum_name(lowest_level()));
#endif
}

void require_cpu_level(CpuLevel level, const std::string& what) {
  const CpuLevel mine = processor_level();
  if (level > mine) {
    throw ConfigError(
        fmt::format("{}: {} is more than the processor here has, which is {}", what, enum_name(level), enum_name(mine)),
        fmt::format("set it to {}, or leave it out", enum_name(mine)));
  }
  if (level < lowest_level()) {
    throw ConfigError(
        fmt::format("{}: {} is less than this weft needs, which is {}", what, enum_name(level), cpu_code_text()),
        "configure it with -DWEFT_NATIVE=OFF, which compiles for every level");
  }
}

}  // namespace weft
