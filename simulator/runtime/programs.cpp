// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/programs.h"

#include <cstring>

namespace weft::cuda_device {
namespace {

// The layout of a fat binary is undocumented; CUDA 12 and 13 write these fields.
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // size of all entries
};
struct FatEntry {
  uint16_t kind, attributes;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes, options;
  uint16_t minor, major;
  uint32_t architecture;  // 80: sm_80 or compute_80
  uint32_t name, name_bytes;
  uint64_t flags;
};
constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;
constexpr uint64_t kCompressed = 0xf000;  // one bit for each method
constexpr uint32_t kMostArchitecture = 90;

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::string ptx_of(const void* fat_binary) {
  const auto header = read<FatHeader>(fat_binary);
  if (header.magic != kMagic)
    throw std::runtime_error("the program registers something other than a fat binary of nvcc");
  const auto* at = static_cast<const char*>(fat_binary) + header.header_bytes;
  const char* const end = at + header.bytes;
  FatEntry best{};
  const char* text = nullptr;
  std::string others;
  for (FatEntry entry; at < end; at += entry.header_bytes + entry.payload_bytes) {
    entry = read<FatEntry>(at);
    if (entry.kind == kPtx && entry.architecture <= kMostArchitecture &&
        (!text || best.architecture < entry.architecture)) {
      best = entry;
      text = at + entry.header_bytes;
    }
    if (!others.empty()) others += ", ";
    others += (entry.kind == kPtx ? "PTX of compute_" : "machine code of sm_") + std::to_string(entry.architecture);
  }
  if (!text)
    throw std::runtime_error("the fat binary has no PTX that this device can run, only " + others +
                             ": compile with -gencode arch=compute_80,code=compute_80");
  if (best.flags & kCompressed)
    throw std::runtime_error("the PTX in the fat binary is compressed: compile with nvcc -no-compress");
  return std::string(text, strnlen(text, best.payload_bytes));
}

FatBinary& Programs::add(const void* image) { return binaries_.emplace_back(FatBinary{image, {}}); }

void Programs::add_function(FatBinary& binary, const void* host, const char* name) {
  functions_[host] = {&binary, name, {}};
}
void Programs::add_variable(FatBinary& binary, const void* host, const char* name) {
  variables_[host] = {&binary, name};
}

Function* Programs::function(const void* host) {
  const auto found = functions_.find(host);
  return found == functions_.end() ? nullptr : &found->second;
}

std::vector<std::string> Programs::function_names() const {
  std::vector<std::string> names;
  for (const auto& [host, function] : functions_) names.push_back(function.name);
  return names;
}

const Module& Programs::module(FatBinary& binary, int device) {
  const auto found = binary.modules.find(device);
  if (found != binary.modules.end()) return found->second;
  if (!binary.modules.empty() && binary.modules.begin()->second.variables.empty())
    return binary.modules.begin()->second;  // without variables the module is the same on every device
  const Place place = [&](const std::string& name, std::span<const std::byte> value, size_t alignment) {
    return place_(device, name, value, alignment);
  };
  return binary.modules[device] = parse_module(ptx_of(binary.image), place, contraction_);
}

std::shared_ptr<const Kernel> Programs::kernel(const Function& function, int device) {
  const Module& of = module(*function.binary, device);
  const auto found = of.kernels.find(function.name);
  return found == of.kernels.end() ? nullptr : found->second;
}

Variable Programs::variable(const void* host, int device) {
  const auto found = variables_.find(host);
  if (found == variables_.end()) return {};
  const Module& of = module(*found->second.binary, device);
  const auto variable = of.variables.find(found->second.name);
  return variable == of.variables.end() ? Variable{} : variable->second;
}

}  // namespace weft::cuda_device
