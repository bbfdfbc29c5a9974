// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "kernels/cuda/runtime/stream.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {

// Copies between the host and a device through pinned memory, in pieces that take turns: while one travels the host
// fills or empties the next. The driver would copy pageable memory twice, and wait.
class Staging {
 public:
  explicit Staging(const Stream& stream);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Queues the copy; when it returns, the host's bytes have been read.
  void upload(std::span<const std::byte> from, std::byte* to);
  // Waits for all work of the stream.
  void download(const std::byte* from, std::span<std::byte> to);

 private:
  static constexpr size_t kPieceBytes = tuning::kStagingPieceBytes, kPieces = tuning::kStagingPieces;
  // Pinned memory, and a mark after the last copy that uses it.
  struct Piece {
    explicit Piece(int device);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    std::byte* memory = nullptr;
    Event done;
  };
  // Waits for the copy of the least recently used piece, and returns the piece.
  Piece& next();

  const Stream& stream_;
  std::array<Piece, kPieces> pieces_;
  size_t turn_ = 0;
};

}  // namespace weft::cuda
