// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft {

// What takes an operation's time: matrix products, attention, memory traffic, or, for a collective, communication.
enum class OperationKind : uint8_t { Product, Attention, Memory, Collective };

// One of the products, attentions and passes over memory that a call is made of where the device has kernels for each,
// by its shape: what a device needs for it depends on more than the sums of FLOPs and bytes.
struct OperationPart {
  OperationKind kind = OperationKind::Memory;
  // Of a product [m, k] x [k, n]. Of attention, the queries, keys and columns of one head in one sequence.
  int64_t m = 0, n = 0, k = 0;
  double bytes = 0;  // each tensor of this part read or written once
  bool backward = false;
  bool causal = false;
  int64_t window = 0;          // of attention: how far a query sees; 0: all
  bool for_libraries = false;  // attention as libraries compute it: sequences of one length, no dropout, no grouped
                               // queries, no window
  std::partial_ordering operator<=>(const OperationPart&) const = default;
};
// How often each part occurs.
using OperationParts = std::map<OperationPart, int64_t>;

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
    OperationParts parts;  // if they are kept; an operation without any is one pass over its bytes a call
    Entry(OperationKind kind, const Sums& sums) : Sums(sums), kind(kind) {}
  };
  // Whether parts are kept, for a plan: off by default, since a long run has as many shapes as its batches have.
  void keep_parts(bool on) { keeps_parts_ = on; }
  bool keeps_parts() const { return keeps_parts_; }
  // InternalError if the operation was recorded with another kind before.
  void record(std::string_view operation, OperationKind kind, const Sums& cost);
  void record_parts(std::string_view operation, OperationKind kind, const OperationParts& parts);
  void add(const Ledger& other);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  Sums total() const;
  void clear() { entries_.clear(); }

 private:
  Entry& entry(std::string_view operation, OperationKind kind);

  std::map<std::string, Entry, std::less<>> entries_;
  bool keeps_parts_ = false;
};

}  // namespace weft
