// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "parallel/parameters/parameter.h"

namespace weft {

// A device and the machines that it is sold in, as the maker states them, for dense matrices; and what it keeps up of
// that, as device_spec.cpp says from where.
struct DeviceSpec {
  std::string name;           // the value of --device: "h100"
  std::string title;          // "NVIDIA H100 SXM 80 GB"
  std::string own_name;       // in the driver's name for it: "H100 80GB HBM3"
  double memory_gib = 0;      // available to a process
  double memory_gbps = 0;     // GB/s
  double bf16_teraflops = 0;  // tensor cores, with the instructions that libraries use
  double fp32_teraflops = 0;  // without TF32
  int multiprocessors = 0;
  double product_share = 1;  // of the rate of tensor cores, while they multiply
  // TFLOP/s of attention in bf16: of all products that are executed, in whole tiles.
  double own_attention_teraflops = 0, library_attention_teraflops = 0;
  bool library_attends = false;  // cuDNN computes attention if a job leaves the choice to weft
  double link_gbps = 0;          // GB/s to the devices of the same node, one way
  double network_gbps = 0;       // GB/s of the device's share of its node's network, one way
  int per_node = 8;
};
std::span<const DeviceSpec> known_devices();
std::string device_names(const std::string& between);
double stated_gflops(const DeviceSpec& device, Precision precision);
// TFLOP/s of dense products for a device's own name, "NVIDIA H100 80GB HBM3, sm_90"; 0 for an unknown device.
double stated_gflops(const std::string& device_name, Precision precision);
// Throws ConfigError, which lists the names, if there is no such device.
const DeviceSpec& find_device(const std::string& name);

}  // namespace weft
