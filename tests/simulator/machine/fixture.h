// SPDX-License-Identifier: Apache-2.0
// A device with one stream for tests of the machine: kernels as PTX text, with arrays as inputs and outputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/machine/launch.h"

namespace weft::cuda_device {

// Every operation comes after all earlier ones, except for the pairs of operations that a test separates.
class TestOrder : public HappensBefore {
 public:
  bool ordered(OpId before, OpId after) const override { return !apart_.contains({before, after}); }
  bool settled(OpId op) const override { return op <= settled_; }
  std::string describe(OpId op) const override { return "operation " + std::to_string(op); }

  void set_apart(OpId before, OpId after) { apart_.insert({before, after}); }
  void settle(OpId last) { settled_ = last; }

 private:
  std::set<std::pair<OpId, OpId>> apart_;
  OpId settled_ = 0;
};

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline const std::string kPtxHead = ".version 9.0\n.target sm_80\n.address_size 64\n";

class TestDevice {
 public:
  explicit TestDevice(Memory::Limits limits = {.devices = 1}) : memory(order, reports, limits) {}

  template <class T>
  uint64_t put(const std::vector<T>& values) {
    const uint64_t address = memory.allocate(values.size() * sizeof(T), 0);
    memory.begin(++op, 0);
    std::memcpy(memory.write(address, values.size() * sizeof(T), "put"), values.data(), values.size() * sizeof(T));
    return address;
  }
  uint64_t allocate(size_t bytes) { return memory.allocate(bytes, 0); }
  template <class T>
  std::vector<T> get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    memory.begin(++op, 0);
    std::memcpy(values.data(), memory.read(address, count * sizeof(T), "get"), count * sizeof(T));
    return values;
  }

  // Runs `kernel` of a whole module. Arguments are integers or addresses, in the order of the parameters.
  Counters run(const std::string& ptx, const std::string& kernel, Dim grid, Dim block,
               const std::vector<uint64_t>& arguments, size_t dynamic_shared_bytes = 0) {
    const auto place = [&](const std::string& name, std::span<const std::byte> value, size_t) {
      variables[name] = put(std::vector(value.begin(), value.end()));
      return variables[name];
    };
    const Module module = parse_module(ptx, place, contraction);
    Launch launch{.kernel = module.kernels.at(kernel), .grid = grid, .block = block};
    launch.parameters.resize(launch.kernel->parameter_bytes);
    for (size_t k = 0; k < arguments.size(); ++k) {
      const Parameter p = launch.kernel->parameters.at(k);
      std::memcpy(launch.parameters.data() + p.offset, &arguments[k], p.bytes);
    }
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.op = ++op;
    return run_launch(launch, memory, random);
  }

  // Runs the body of a kernel `k` with `parameters` pointers, in %rd0, %rd1 ...; %tid is the thread's number in its
  // block, and %lane4 and %lane8 are 4 and 8 times that number, for addresses.
  Counters run_body(const std::string& body, int parameters, const std::vector<uint64_t>& arguments, Dim grid = {1},
                    Dim block = {32}, size_t dynamic_shared_bytes = 0) {
    std::string head = kPtxHead + ".extern .shared .align 16 .b8 dynamic[];\n.entry k(", loads;
    for (int p = 0; p < parameters; ++p) {
      const std::string n = std::to_string(p);
      head += (p ? ", " : "") + std::string(".param .u64 p") + n;
      loads.append("ld.param.u64 %rd").append(n).append(", [p").append(n).append("];\n");
    }
    return run(head +
                   ") {\n.reg .b64 %rd<32>, %t8;\n.reg .b32 %r<64>, %t, %t4;\n.reg .f32 %f<64>;\n.reg .pred %p<8>;\n" +
                   ".reg .b16 %h<16>;\n.reg .f64 %fd<8>;\n" + loads +
                   "mov.u32 %t, %tid.x; shl.b32 %t4, %t, 2; mul.wide.u32 %t8, %t, 4;\n" + body + "\nret;\n}\n",
               "k", grid, block, arguments, dynamic_shared_bytes);
  }

  size_t count(ReportKind kind) const { return reports.count(kind); }
  std::string findings() const {
    std::string all;
    for (const Report& r : reports.all()) all += r.sentence + "\n";
    return all;
  }

  TestOrder order;
  Reports reports{Reports::Policy::Collect};
  Memory memory;
  std::mt19937_64 random{1};
  OpId op = 0;
  std::map<std::string, uint64_t> variables;
  Contraction contraction;  // of the kernels that are run
};

// Runs statements on 32 lanes: inputs in %a, %b, %c, the result in %d, each of the width of its C++ type.
template <class D, class... A>
std::vector<D> evaluate(const std::string& code, const std::vector<A>&... inputs) {
  TestDevice device;
  const char* names = "abc";
  const auto width = [](size_t bytes) { return std::to_string(8 * bytes); };
  std::string body = ".reg .b" + width(sizeof(D)) + " %d;\n.reg .pred %q, %q2;\n";
  std::vector<uint64_t> arguments;
  int k = 0;
  const auto input = [&](const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    const std::string register_name = std::string("%") + names[k], n = std::to_string(k);
    body += ".reg .b" + width(sizeof(T)) + " " + register_name + ";\n.reg .b64 %at" + n + ";\n";
    body += "mul.wide.u32 %at" + n + ", %t, " + std::to_string(sizeof(T)) + ";\nadd.s64 %at" + n + ", %at" + n +
            ", %rd" + n + ";\n";
    body += "ld.global.b" + width(sizeof(T)) + " " + register_name + ", [%at" + n + "];\n";
    std::vector<T> full = values;
    for (size_t v = 0; full.size() < kLanes; ++v) full.push_back(full[v]);  // repeats the inputs
    arguments.push_back(device.put(full));
    ++k;
  };
  (input(inputs), ...);
  const std::string n = std::to_string(k);
  body += "mov.b" + width(sizeof(D)) + " %d, 0;\n" + code + "\n.reg .b64 %to;\nmul.wide.u32 %to, %t, " +
          std::to_string(sizeof(D)) + ";\nadd.s64 %to, %to, %rd" + n + ";\nst.global.b" + width(sizeof(D)) +
          " [%to], %d;";
  arguments.push_back(device.allocate(kLanes * sizeof(D)));
  device.run_body(body, k + 1, arguments);
  EXPECT_EQ(device.findings(), "") << code;
  std::vector<D> all = device.get<D>(arguments.back(), kLanes);
  size_t most = 0;
  ((most = std::max(most, inputs.size())), ...);
  if (most > 0) all.resize(most);
  return all;
}

inline float bf16_value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

}  // namespace weft::cuda_device
