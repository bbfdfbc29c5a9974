// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft {

// What an operation spends its time on: products of matrices, attention, or moving what it reads and writes; a
// collective spends it on what it sends.
enum class OperationKind : uint8_t { Product, Attention, Memory, Collective };

// What operations cost, by name. Filled on every device; on Meta it is the only effect of an operation.
class Ledger {
 public:
  struct Sums {
    int64_t calls = 0;
    double flops = 0;    // multiply and add counted as two
    double bytes = 0;    // read and written in the tensors of the contract, each once
    double seconds = 0;  // until its work is done, if timing is on
    double moved = 0;    // by a collective: bytes that this rank sends to others
    Sums& operator+=(const Sums& other);
  };
  struct Entry : Sums {
    OperationKind kind;
    Entry(OperationKind kind, const Sums& sums) : Sums(sums), kind(kind) {}
  };
  // An operation is of the same kind each time.
  void record(std::string_view operation, OperationKind kind, const Sums& cost);
  void add(const Ledger& other);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  Sums total() const;
  void clear() { entries_.clear(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace weft
