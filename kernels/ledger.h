// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft {

// What takes an operation's time: matrix products, attention, memory traffic, or, for a collective, communication.
enum class OperationKind : uint8_t { Product, Attention, Memory, Collective };

// The cost of operations, by name. Every device fills it; on Meta it is the only effect of an operation.
class Ledger {
 public:
  struct Sums {
    int64_t calls = 0;
    double flops = 0;    // multiply and add counted as two
    double bytes = 0;    // each tensor of the contract read or written once
    double seconds = 0;  // from call to completion, if timing is on
    double moved = 0;    // bytes that this rank sends to others in collectives
    Sums& operator+=(const Sums& other);
  };
  struct Entry : Sums {
    OperationKind kind;
    Entry(OperationKind kind, const Sums& sums) : Sums(sums), kind(kind) {}
  };
  // InternalError if the operation was recorded with another kind before.
  void record(std::string_view operation, OperationKind kind, const Sums& cost);
  void add(const Ledger& other);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  Sums total() const;
  void clear() { entries_.clear(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace weft
