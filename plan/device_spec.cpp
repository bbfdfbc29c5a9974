// SPDX-License-Identifier: Apache-2.0
#include "plan/device_spec.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace weft {
namespace {

// Rates and sizes are from NVIDIA's data sheets: A100 80 GB SXM (2021), H100 SXM (2023), H200 SXM (2024); 8 on an HGX
// board, one 200 Gb/s (A100) or 400 Gb/s adapter for each.
//
// What Hopper keeps up comes from the steps of GPT-2 124M and 1558M that weft measured on one H100
// (bench/results/nvidia-h100.json, every operation timed). Attention: 11.0 ms of a step of 124M in cuDNN, 18.9 in
// weft's own kernels.
//
// On an A100 nothing was measured. Its share of products is what llm.c's published 300 ms a step of GPT-2 124M on eight
// of them leave (bench/README.md); both kinds of attention use mma.sync there and are given the rate of weft's own on
// an H100, times 108 x 1.41 GHz over 132 x 1.83.
const std::array<DeviceSpec, 3>& specs() {
  static const std::array<DeviceSpec, 3> all = [] {
    std::array<DeviceSpec, 3> known{{
        {.name = "a100",
         .title = "NVIDIA A100 SXM 80 GB",
         .own_name = "A100-SXM4-80GB",
         .memory_gib = 79,
         .memory_gbps = 2039,
         .bf16_teraflops = 312,
         .fp32_teraflops = 19.5,
         .multiprocessors = 108,
         .product_share = 0.85,
         .own_attention_teraflops = 100,
         .library_attention_teraflops = 100,
         .library_attends = false,
         .link_gbps = 300,
         .network_gbps = 25},
        {.name = "h100",
         .title = "NVIDIA H100 SXM 80 GB",
         .own_name = "H100 80GB HBM3",
         .memory_gib = 79,
         .memory_gbps = 3350,
         .bf16_teraflops = 989,
         .fp32_teraflops = 67,
         .multiprocessors = 132,
         .product_share = 0.70,
         .own_attention_teraflops = 158,
         .library_attention_teraflops = 212,
         .library_attends = true,
         .link_gbps = 450,
         .network_gbps = 50},
    }};
    // An H200 is an H100 with more and faster memory.
    DeviceSpec& h200 = known[2];
    h200 = known[1];
    h200.name = "h200", h200.title = "NVIDIA H200 SXM 141 GB", h200.own_name = "NVIDIA H200";
    h200.memory_gib = 140, h200.memory_gbps = 4800;
    return known;
  }();
  return all;
}

}  // namespace

std::span<const DeviceSpec> known_devices() { return specs(); }

std::string device_names(const std::string& between) {
  std::string names;
  for (const DeviceSpec& device : specs()) names += (names.empty() ? "" : between) + device.name;
  return names;
}

const DeviceSpec& find_device(const std::string& name) {
  const auto at = std::ranges::find(specs(), name, &DeviceSpec::name);
  if (at != specs().end()) return *at;
  throw ConfigError(fmt::format("--device {}: its rates are not known", name), "known are " + device_names(", "));
}

double stated_gflops(const DeviceSpec& device, Precision precision) {
  return 1e3 * (precision == Precision::Bf16 ? device.bf16_teraflops : device.fp32_teraflops);
}

double stated_gflops(const std::string& device_name, Precision precision) {
  for (const DeviceSpec& device : specs()) {
    if (device_name.find(device.own_name) != std::string::npos) return stated_gflops(device, precision);
  }
  return 0;
}

}  // namespace weft
