// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft {

// What operations cost, by name. Filled on every device; on Meta it is the only effect of an operation.
class Ledger {
 public:
  struct Entry {
    int64_t calls = 0;
    double flops = 0;    // multiply and add counted as two
    double bytes = 0;    // read and written in the tensors of the contract, each once
    double seconds = 0;  // until its work is done, if timing is on
    double moved = 0;    // by a collective: bytes that this rank sends to others
    Entry& operator+=(const Entry& other);
  };
  void record(const char* operation, double flops, double bytes, double seconds = 0);
  void record_collective(const std::string& name, double moved);
  void add(const Ledger& other);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  Entry total() const;
  void clear() { entries_.clear(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace weft
