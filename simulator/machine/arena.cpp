// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace weft::cuda_device {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

void* view(int file, size_t bytes, int access) {
  void* p = mmap(nullptr, bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error("the simulated device cannot reserve " + std::to_string(bytes >> 30) +
                             " GiB of addresses: " + std::strerror(errno));
  return p;
}

}  // namespace

Arena::Arena(size_t reserve, bool access) : reserve_(reserve) {
  file_ = memfd_create("simulated device", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, off_t(reserve)) != 0)
    throw std::runtime_error(std::string("the simulated device has no memory file: ") + std::strerror(errno));
  const auto given = reinterpret_cast<uint64_t>(view(file_, reserve, access ? PROT_READ | PROT_WRITE : PROT_NONE));
  const auto used = reinterpret_cast<uint64_t>(view(file_, reserve, PROT_READ | PROT_WRITE));
  base_ = top_ = given;
  to_alias_ = std::ptrdiff_t(used - given);
}

Arena::~Arena() {
  munmap(reinterpret_cast<void*>(base_), reserve_);
  munmap(reinterpret_cast<void*>(base_ + uint64_t(to_alias_)), reserve_);
  close(file_);
}

uint64_t Arena::take(size_t bytes, size_t alignment) {
  const uint64_t address = round_up(top_, alignment), end = address + round_up(bytes, kGap) + kGap;
  if (end > base_ + reserve_) return 0;
  top_ = end;
  return address;
}

void Arena::drop_pages(uint64_t address, size_t bytes) {
  const uint64_t first = round_up(address, kPage) - base_, end = (address + bytes) / kPage * kPage - base_;
  if (first < end) fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(first), off_t(end - first));
}

}  // namespace weft::cuda_device
