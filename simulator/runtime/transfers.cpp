// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/transfers.h"

#include <cstring>
#include <string>
#include <vector>

namespace weft::cuda_device {
namespace {

uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

// The kind of memory at an address. The host and every device reach managed memory.
enum class Home { Device, Pinned, Managed, Pageable };

Home home_of(const Simulator& all, const void* p) {
  if (all.memory.is_device(p)) return Home::Device;
  if (!all.memory.is_pinned(p)) return Home::Pageable;
  return all.is_managed(p) ? Home::Managed : Home::Pinned;
}

bool agrees(Direction direction, Home to, Home from) {
  const auto is = [](Home home, bool device) { return home == Home::Managed || (home == Home::Device) == device; };
  switch (direction) {
    case Direction::HostToHost:
      return is(to, false) && is(from, false);
    case Direction::HostToDevice:
      return is(to, true) && is(from, false);
    case Direction::DeviceToHost:
      return is(to, false) && is(from, true);
    case Direction::DeviceToDevice:
      return is(to, true) && is(from, true);
    case Direction::ByAddress:
      return true;
  }
  return false;
}

// One end of a copy: checked memory, or other memory of the host.
struct End {
  Simulator& all;
  void* p;
  bool known;  // device or pinned memory
  const std::byte* read(size_t bytes, const std::string& what) const {
    return known ? all.memory.read(address_of(p), bytes, what) : static_cast<const std::byte*>(p);
  }
  std::byte* write(size_t bytes, const std::string& what) const {
    return known ? all.memory.write(address_of(p), bytes, what) : static_cast<std::byte*>(p);
  }
};

}  // namespace

Status copy(Simulator& all, void* to, const void* from, size_t bytes, Direction direction, Stream& stream) {
  if (bytes == 0) return Status::Success;
  const Home to_home = home_of(all, to), from_home = home_of(all, from);
  if (!agrees(direction, to_home, from_home)) return Status::InvalidValue;
  const bool to_pageable = to_home == Home::Pageable, from_pageable = from_home == Home::Pageable;
  if ((to_pageable || from_pageable) && stream.capture)
    refuse("a copy of pageable memory cannot be captured into a graph: use cudaMallocHost");

  const std::string what = "cudaMemcpy of " + std::to_string(bytes) + " bytes";
  const End target{all, to, !to_pageable};
  OpId op = kBeforeAll;
  if (from_pageable) {  // read now, as in the real runtime: the host may change the bytes once this returns
    const auto* first = static_cast<const std::byte*>(from);
    op = all.enqueue(stream, what, [=, staged = std::vector<std::byte>(first, first + bytes)](OpId) {
      if (std::byte* out = target.write(bytes, what)) std::memcpy(out, staged.data(), bytes);
    });
  } else {
    const End source{all, const_cast<void*>(from), true};
    op = all.enqueue(stream, what, [=](OpId) {
      const std::byte* in = source.read(bytes, what);
      std::byte* out = in ? target.write(bytes, what) : nullptr;
      if (out) std::memmove(out, in, bytes);
    });
  }
  if (to_pageable) return all.wait_for(stream.device, op);
  if (op != kBeforeAll) {  // in a graph it is unknown when the copy is under way
    const std::string name = all.schedule.operations().describe(op);
    if (to_home != Home::Device) all.pinned.add(op, address_of(to), bytes, true, name);
    if (from_home != Home::Device && !from_pageable) all.pinned.add(op, address_of(from), bytes, false, name);
  }
  return Status::Success;
}

Status fill(Simulator& all, void* to, int value, size_t bytes, Stream& stream) {
  if (!all.memory.is_device(to) && !all.memory.is_pinned(to)) return Status::InvalidValue;
  if (bytes == 0) return Status::Success;
  const std::string what = "cudaMemset of " + std::to_string(bytes) + " bytes";
  const OpId op = all.enqueue(stream, what, [=, &all](OpId) {
    if (std::byte* out = all.memory.write(address_of(to), bytes, what)) std::memset(out, value, bytes);
  });
  if (op != kBeforeAll && !all.memory.is_device(to))
    all.pinned.add(op, address_of(to), bytes, true, all.schedule.operations().describe(op));
  return Status::Success;
}

}  // namespace weft::cuda_device
