// SPDX-License-Identifier: Apache-2.0
// Pinned host memory that a copy still reads or writes belongs to the copy: the program's view of its pages is
// protected until the host has waited, and an access that comes too early is reported with the copy's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

class PinnedGuard {
  struct Flight {
    OpId op;
    uint64_t address;
    size_t bytes;
    bool written;  // the device writes it: the host may not even read
    std::string what;
  };

 public:
  // `op` reads or writes these bytes of pinned memory from now on.
  void add(OpId op, uint64_t address, size_t bytes, bool written, std::string what);
  // Releases the bytes of operations that the host knows to be finished, according to `known`.
  template <class Known>
  void release(Known&& known) {
    bool any = false;
    std::erase_if(flights_, [&](Flight& flight) {
      if (!known(flight.op)) return false;
      any = true;
      changed_.push_back(flight);
      return true;
    });
    if (any) protect_changed();
  }
  // After a fault at `address`: the mistake in `wrong`; empty if the access was fine and only shares its page with a
  // copy. The page can then be accessed until another copy uses it. False: the address is not guarded.
  bool admit(uint64_t address, bool write, std::string& wrong);

  // While this lives, flights of operations in `known` do not count.
  class Pause {
   public:
    template <class Known>
    Pause(PinnedGuard& guard, Known&& known) : guard_(guard), all_(guard.flights_) {
      guard.release(known);
    }
    ~Pause() {
      guard_.changed_ = guard_.flights_ = all_;
      guard_.protect_changed();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    PinnedGuard& guard_;
    std::vector<Flight> all_;
  };

 private:
  void protect_changed();
  void protect(uint64_t page) const;

  std::vector<Flight> flights_;
  std::vector<Flight> changed_;
};

}  // namespace weft::cuda_device
