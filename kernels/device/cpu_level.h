// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/config/fields.h"

namespace weft {

// The instruction sets of x86-64 that results on the CPU depend on, from weak to strong: three levels of the psABI
// (https://gitlab.com/x86-psABIs/x86-64-ABI), and two above v4 that oneDNN's bf16 products use. Sums run over the lanes
// of a vector, and from v3 on products and sums are fused, so that each level rounds in its own way; v2 is SSE4.2.
enum class CpuLevel : uint8_t { V2, V3, V4, Bf16, Amx };

template <>
struct EnumNames<CpuLevel> {
  static constexpr auto kNames = enum_names<CpuLevel>("v2", "v3", "v4", "v4-bf16", "v4-amx");
};

// The highest level that the processor of this machine has.
CpuLevel machine_level();

// The highest level that this process may use: the machine's, or the one that the environment names in WEFT_CPU_LEVEL,
// as if the processor had no more. ConfigError if WEFT_CPU_LEVEL is no level, or above the machine's.
CpuLevel processor_level();

// The lowest level that this program can compute at: v2, or, if it was compiled for one processor (WEFT_NATIVE), that
// processor's.
CpuLevel lowest_level();

// For users: the levels that there is code for, "code for v2, v3 and v4" or "compiled for v4 alone".
std::string cpu_code_text();

// ConfigError, beginning with `what`, unless this process can compute at the level: this program has code for it, and
// this machine's processor its instructions.
void require_cpu_level(CpuLevel level, const std::string& what);

}  // namespace weft
