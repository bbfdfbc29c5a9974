// SPDX-License-Identifier: Apache-2.0
// The memory of all devices, and pinned memory of the host: exact bounds, and the last accesses to each two bytes.
//
// A program receives addresses of device memory in a view of pages without access, so that the host cannot touch them;
// the simulator reaches the same pages by another view (alias). Pinned memory has two views as well: runtime/ may
// protect the program's while a copy is in flight. No address is returned twice, so that a use after free is noticed.
//
// One operation executes at a time: begin() names it, and all accesses up to the next begin() belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/machine/arena.h"
#include "simulator/machine/happens_before.h"
#include "simulator/machine/history.h"
#include "simulator/machine/reports.h"
#include "simulator/machine/shadow.h"

namespace weft::cuda_device {

struct Allocation {
  enum class Kind : uint8_t { Device, Pinned, Registered };

  uint64_t address = 0;
  size_t bytes = 0;
  Kind kind = Kind::Device;
  int device = 0;  // the device that owns it; -1: the host's memory, which all devices reach
  int number = 0;  // for messages: the allocation's number, from 1
  bool freed = false;
  OpId allocated_by = kBeforeAll;      // the operation of a stream-ordered allocation
  mutable OpId known_to = kBeforeAll;  // the last operation that proved to come after it
  std::ptrdiff_t to_alias = 0;         // alias - address
  mutable Shadow shadow;
};

class Memory {
 public:
  struct Limits {
    int devices = 1;
    size_t bytes_per_device = size_t{80} << 30;  // the most that allocate() returns; pages are taken only when written
  };
  Memory(const HappensBefore& order, Reports& reports) : Memory(order, reports, Limits()) {}
  Memory(const HappensBefore& order, Reports& reports, Limits limits);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // ---- allocations. Addresses are multiples of 256.

  // 0: out of memory. `by` is the operation of a stream-ordered allocation, which every user must be ordered after.
  uint64_t allocate(size_t bytes, int device, OpId by = kBeforeAll);
  // Pinned memory of the host, reached by every device under this address; page-aligned.
  void* allocate_pinned(size_t bytes);
  // Registers memory of the host that devices may reach from now on (cudaHostRegister). It cannot be protected.
  void register_host(void* first, size_t bytes);
  // Frees any of these. A free that is an operation (by != kBeforeAll: begin(by) came before) counts as a write of all
  // bytes, so that a use that nothing orders before it is a race. False: no allocation starts there, or it is freed.
  bool free(uint64_t address, OpId by = kBeforeAll);

  // The allocation that the address is in or, for messages, just past; freed ones too. Null if there is no such
  // allocation.
  const Allocation* find(uint64_t address) const;
  bool is_device(const void* p) const { return device_arena_.contains(reinterpret_cast<uint64_t>(p)); }
  bool is_pinned(const void* p) const;  // a living allocation of kind Pinned or Registered
  size_t used(int device) const { return used_.at(size_t(device)); }
  size_t capacity() const { return limits_.bytes_per_device; }
  // The report of the signal handler of runtime/ for a host access to `p`; empty if `p` is outside this memory.
  std::string explain_host_access(const void* p) const;

  // ---- accesses of the operation that executes

  void begin(OpId op, int device);

  // Checks a whole range that the operation reads or writes (copies, memsets, libraries): returns its address for the
  // simulator, or null after a report. `what` names the access in reports ("cudaMemcpyAsync", "cublasLtMatmul: A").
  const std::byte* read(uint64_t address, size_t bytes, const std::string& what);
  std::byte* write(uint64_t address, size_t bytes, const std::string& what);
  // Marks the bytes as never written (a sub-allocator reuses a block).
  void poison(uint64_t address, size_t bytes);

  // Bytes that the executing operation has written and that were not freed: calls visit(offset in its
  // allocation, bytes) for each stretch, from the lowest address on.
  void for_each_written(const std::function<void(size_t offset, std::span<const std::byte>)>& visit) const;

  // Unchecked: the simulator's own address of bytes in an allocation.
  std::byte* alias(const Allocation& a, uint64_t address) const {
    return reinterpret_cast<std::byte*>(address) + a.to_alias;
  }

  // ---- records of operations: bounded however long the program runs

  // Forgets operations that are settled. Called by begin() itself whenever the list has doubled.
  void forget_settled();
  bool remembers(OpId op) const { return history_.remembers(op); }

  // ---- for the machine: what is wrong with an access, as a sentence; empty if the access is fine

  struct Fault {
    ReportKind kind = ReportKind::Bounds;
    std::string text;
    explicit operator bool() const { return !text.empty(); }
  };
  // `a` is the result of find(), which may be null.
  Fault fault_of(const Allocation* a, uint64_t address, size_t bytes) const;
  Fault fault_of(const Conflict& conflict, const std::string& memory, Touch kind) const;
  static std::string name_of(const Allocation& a);
  const Accessor& accessor() const { return accessor_; }  // the executing operation as the author of accesses

  Reports& reports() { return reports_; }
  const HappensBefore& order() const { return order_; }
  History& history() { return history_; }
  int device() const { return device_; }

 private:
  std::byte* reach(uint64_t address, size_t bytes, Touch kind, const std::string& what);
  Allocation& add(uint64_t address, size_t bytes, Allocation::Kind kind, std::ptrdiff_t to_alias);

  const HappensBefore& order_;
  Reports& reports_;
  Limits limits_;
  Arena device_arena_, pinned_arena_;
  History history_;
  OpId op_ = kBeforeAll;
  int device_ = 0;
  Accessor accessor_;
  std::vector<RunRange> unordered_;
  int count_ = 0;
  std::vector<size_t> used_;
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations_;
  std::deque<uint64_t> freed_;  // the last ones, for messages; earlier ones are forgotten
};

}  // namespace weft::cuda_device
