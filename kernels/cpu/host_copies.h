// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>

#include "kernels/backend/copy_queue.h"

namespace weft::cpu {

// Copies that the host's own threads make: each thread that waits for them takes a piece in turn until none is left. A
// save's thread thus copies beside the operations, and operations that are about to write there finish the copy.
class HostCopies : public CopyQueue {
 public:
  void fork() override {}
  void join() override { wait(); }
  void upload(std::span<const std::byte> from, const Tensor& to) override;
  void download(const Tensor& from, std::span<std::byte> to) override;
  void wait() override;

 private:
  struct Piece {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    size_t bytes = 0;
  };
  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<Piece> pieces_;
  int copying_ = 0;  // threads that have taken a piece
};

}  // namespace weft::cpu
