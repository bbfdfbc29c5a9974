// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/host_copies.h"

#include <algorithm>
#include <cstring>

namespace weft::cpu {

void HostCopies::upload(std::span<const std::byte> from, const Tensor& to) {
  std::memcpy(to.device_raw(), from.data(), from.size());
}

void HostCopies::download(const Tensor& from, std::span<std::byte> to) {
  constexpr size_t kPiece = size_t{4} << 20;
  const std::lock_guard lock(mutex_);
  for (size_t at = 0; at < to.size(); at += kPiece) {
    pieces_.push_back({from.device_raw() + at, to.data() + at, std::min(kPiece, to.size() - at)});
  }
}

void HostCopies::wait() {
  std::unique_lock lock(mutex_);
  while (!pieces_.empty()) {
    const Piece piece = pieces_.front();
    pieces_.pop_front();
    ++copying_;
    lock.unlock();
    std::memcpy(piece.to, piece.from, piece.bytes);
    lock.lock();
    --copying_;
  }
  if (copying_ == 0) return done_.notify_all();
  done_.wait(lock, [this] { return copying_ == 0; });
}

}  // namespace weft::cpu
