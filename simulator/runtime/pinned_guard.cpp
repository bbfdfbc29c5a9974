// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/pinned_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace weft::cuda_device {
namespace {

const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

uint64_t page_of(uint64_t address) { return address / kPage * kPage; }

void set_access(uint64_t first, uint64_t end, int access) {
  mprotect(reinterpret_cast<void*>(first), end - first, access);
}

}  // namespace

void PinnedGuard::add(OpId op, uint64_t address, size_t bytes, bool written, std::string what) {
  if (bytes == 0) return;
  flights_.push_back({op, address, bytes, written, std::move(what)});
  changed_.push_back(flights_.back());
  protect_changed();
}

// Pages of flights that began or ended get the access that the remaining flights leave: pages wholly within one
// flight, which are nearly all, at once; the pages at its ends one by one.
void PinnedGuard::protect_changed() {
  for (const Flight& flight : changed_) {
    const uint64_t first = page_of(flight.address), end = page_of(flight.address + flight.bytes - 1) + kPage;
    const bool alone = std::none_of(flights_.begin(), flights_.end(), [&](const Flight& other) {
      return !(other.op == flight.op && other.address == flight.address) && page_of(other.address) < end &&
             first < other.address + other.bytes;
    });
    const bool here = std::any_of(flights_.begin(), flights_.end(), [&](const Flight& other) {
      return other.op == flight.op && other.address == flight.address;
    });
    if (alone)
      set_access(first, end, !here ? PROT_READ | PROT_WRITE : flight.written ? PROT_NONE : PROT_READ);
    else
      for (uint64_t page = first; page < end; page += kPage) protect(page);
  }
  changed_.clear();
}

void PinnedGuard::protect(uint64_t page) const {
  int access = PROT_READ | PROT_WRITE;
  for (const Flight& flight : flights_)
    if (flight.address < page + kPage && page < flight.address + flight.bytes)
      access &= flight.written ? PROT_NONE : PROT_READ;
  set_access(page, page + kPage, access);
}

bool PinnedGuard::admit(uint64_t address, bool write, std::string& wrong) {
  const uint64_t page = page_of(address);
  bool guarded = false;
  for (const Flight& flight : flights_) {
    guarded |= flight.address < page + kPage && page < flight.address + flight.bytes;
    if (address < flight.address || address >= flight.address + flight.bytes || !(write || flight.written)) continue;
    wrong = std::string("the host ") + (write ? "writes" : "reads") + " byte " +
            std::to_string(address - flight.address) + " of the pinned memory that " + flight.what +
            (flight.written ? " writes" : " reads") + ", and has not waited for it";
  }
  if (guarded) set_access(page, page + kPage, PROT_READ | PROT_WRITE);
  return guarded;
}

}  // namespace weft::cuda_device
