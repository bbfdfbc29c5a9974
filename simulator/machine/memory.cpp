// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/memory.h"

#include <cstring>

namespace weft::cuda_device {
namespace {

// Addresses cost nothing, so a whole training run never needs to reuse one.
constexpr size_t kDeviceReserve = size_t{1} << 40, kPinnedReserve = size_t{1} << 38;
constexpr size_t kAlignment = 256, kPage = 4096;
constexpr size_t kFreedRemembered = 4096;
constexpr int kNotANumber = 0xff;  // in each byte: NaN in every floating-point type

}  // namespace

Memory::Memory(const HappensBefore& order, Reports& reports, Limits limits)
    : order_(order),
      reports_(reports),
      limits_(limits),
      device_arena_(kDeviceReserve, false),
      pinned_arena_(kPinnedReserve, true),
      used_(size_t(limits.devices)) {
  accessor_.unordered = &unordered_;
}

Memory::~Memory() = default;

std::string Memory::name_of(const Allocation& a) {
  const std::string place = a.device >= 0 ? "of device " + std::to_string(a.device) : "of the host";
  return "allocation " + std::to_string(a.number) + " " + place + " (" + std::to_string(a.bytes) + " bytes)";
}

Allocation& Memory::add(uint64_t address, size_t bytes, Allocation::Kind kind, std::ptrdiff_t to_alias) {
  auto a = std::make_unique<Allocation>();
  a->address = address;
  a->bytes = bytes;
  a->kind = kind;
  a->device = -1;
  a->number = ++count_;
  a->to_alias = to_alias;
  a->shadow = Shadow(bytes);
  return *(allocations_[address] = std::move(a));
}

uint64_t Memory::allocate(size_t bytes, int device, OpId by) {
  size_t& used = used_.at(size_t(device));
  if (bytes > limits_.bytes_per_device - used) return 0;
  const uint64_t address = device_arena_.take(bytes, kAlignment);
  if (address == 0) return 0;
  Allocation& a = add(address, bytes, Allocation::Kind::Device, device_arena_.to_alias());
  a.device = device;
  a.allocated_by = by;
  used += bytes;
  return address;
}

void* Memory::allocate_pinned(size_t bytes) {
  const uint64_t address = pinned_arena_.take(bytes, kPage);
  if (address == 0) return nullptr;
  add(address, bytes, Allocation::Kind::Pinned, pinned_arena_.to_alias());
  return reinterpret_cast<void*>(address);
}

void Memory::register_host(void* first, size_t bytes) {
  add(reinterpret_cast<uint64_t>(first), bytes, Allocation::Kind::Registered, 0);
}

bool Memory::free(uint64_t address, OpId by) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second->freed) return false;
  Allocation& a = *found->second;
  if (by != kBeforeAll) reach(a.address, a.bytes, Touch::Write, order_.describe(by));
  a.freed = true;
  a.shadow = Shadow();
  if (a.kind == Allocation::Kind::Device) {
    used_.at(size_t(a.device)) -= a.bytes;
    device_arena_.drop_pages(a.address, a.bytes);
  } else if (a.kind == Allocation::Kind::Pinned) {
    pinned_arena_.drop_pages(a.address, a.bytes);
  } else {
    allocations_.erase(found);  // the host's own memory: it may be registered more than once
    return true;
  }
  freed_.push_back(address);
  if (freed_.size() > kFreedRemembered) {
    allocations_.erase(freed_.front());
    freed_.pop_front();
  }
  return true;
}

const Allocation* Memory::find(uint64_t address) const {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return nullptr;
  const Allocation& a = *(--it)->second;
  const size_t gap = a.kind == Allocation::Kind::Registered ? 0 : Arena::kGap;
  return address < a.address + a.bytes + gap ? &a : nullptr;
}

bool Memory::is_pinned(const void* p) const {
  const auto address = reinterpret_cast<uint64_t>(p);
  const Allocation* a = find(address);
  return a && !a->freed && a->kind != Allocation::Kind::Device && address < a->address + a->bytes;
}

std::string Memory::explain_host_access(const void* p) const {
  const auto address = reinterpret_cast<uint64_t>(p);
  const Allocation* a = find(address);
  const std::string at = a ? "byte " + std::to_string(address - a->address) + " of " + name_of(*a) : "no allocation";
  if (is_device(p)) return "the host dereferenced device memory: " + at + (a && a->freed ? ", which is freed" : "");
  if (a) return "the host touched pinned memory that a copy in flight uses, or that is freed: " + at;
  return {};
}

void Memory::begin(OpId op, int device) {
  if (history_.grown()) forget_settled();
  if (history_.crowded()) {
    const History::Renumbering renumbering = history_.renumber();
    for (auto& [address, a] : allocations_) a->shadow.renumber(renumbering);
  }
  op_ = op;
  device_ = device;
  accessor_.launch = accessor_.block = accessor_.run = history_.begin(op);
  unordered_ = history_.unordered_before(op, order_);
}

void Memory::forget_settled() {
  history_.forget_settled(order_);
  for (auto& [address, a] : allocations_) a->shadow.drop_readers(history_);
}

Memory::Fault Memory::fault_of(const Allocation* a, uint64_t address, size_t bytes) const {
  if (!a) return {ReportKind::Bounds, "address " + std::to_string(address) + " is in no allocation"};
  if (a->freed) return {ReportKind::UseAfterFree, name_of(*a) + " is freed"};
  const uint64_t at = address - a->address;
  if (at + bytes > a->bytes)
    return {ReportKind::Bounds,
            "bytes " + std::to_string(at) + " to " + std::to_string(at + bytes) + " of " + name_of(*a)};
  if (a->device >= 0 && a->device != device_)
    return {ReportKind::Bounds, name_of(*a) + " reached by device " + std::to_string(device_)};
  if (a->allocated_by == kBeforeAll || a->allocated_by == op_ || a->known_to == op_) return {};
  if (!order_.ordered(a->allocated_by, op_))
    return {ReportKind::UseAfterFree,
            name_of(*a) + " is not known to be allocated yet (" + order_.describe(a->allocated_by) + ")"};
  a->known_to = op_;
  return {};
}

Memory::Fault Memory::fault_of(const Conflict& conflict, const std::string& memory, Touch kind) const {
  const std::string does = kind == Touch::Read ? "reads " : kind == Touch::Write ? "writes " : "updates ";
  const std::string at = does + "byte " + std::to_string(conflict.granule * kGranule) + " of " + memory;
  const std::string did = at + (conflict.with_write ? ", written by " : ", read by ");
  switch (conflict.why) {
    case Conflict::Why::Nothing:
      return {};
    case Conflict::Why::Uninitialised:
      return {ReportKind::Uninitialised, at + ", which nothing has written"};
    case Conflict::Why::SameWarp:
      return {ReportKind::Race, did + "another lane of its warp since the last barrier"};
    case Conflict::Why::OtherWarp:
      return {ReportKind::Race, did + "another warp of its block since the last barrier"};
    case Conflict::Why::OtherBlock:
      return {ReportKind::Race, did + "another block of the launch"};
    case Conflict::Why::OtherOperation:
      return {ReportKind::Race,
              did + order_.describe(history_.op_of(conflict.run)) + ", with nothing that orders the two"};
  }
  return {};
}

std::byte* Memory::reach(uint64_t address, size_t bytes, Touch kind, const std::string& what) {
  const Allocation* a = find(address);
  Fault fault = fault_of(a, address, bytes);
  if (!fault && bytes > 0) {
    Accessor who = accessor_;
    who.zero_is_written = a->kind != Allocation::Kind::Device;
    fault = fault_of(a->shadow.touch_range(address - a->address, bytes, kind, who), name_of(*a), kind);
  } else if (fault) {
    reports_.add(fault.kind, what + ": " + fault.text);
    return nullptr;
  }
  if (fault) reports_.add(fault.kind, what + ": " + fault.text);
  return alias(*a, address);
}

const std::byte* Memory::read(uint64_t address, size_t bytes, const std::string& what) {
  return reach(address, bytes, Touch::Read, what);
}

std::byte* Memory::write(uint64_t address, size_t bytes, const std::string& what) {
  return reach(address, bytes, Touch::Write, what);
}

void Memory::for_each_written(const std::function<void(size_t, std::span<const std::byte>)>& visit) const {
  for (const auto& [address, a] : allocations_) {
    if (a->freed) continue;
    a->shadow.take_written(accessor_.launch, [&, a = a.get()](size_t offset, size_t bytes) {
      visit(offset, {alias(*a, a->address + offset), std::min(bytes, a->bytes - offset)});
    });
  }
}

void Memory::poison(uint64_t address, size_t bytes) {
  const Allocation* a = find(address);
  if (!a || a->freed || address + bytes > a->address + a->bytes) return;
  a->shadow.forget(address - a->address, bytes);
  std::memset(alias(*a, address), kNotANumber, bytes);
}

}  // namespace weft::cuda_device
