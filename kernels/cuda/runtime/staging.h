// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// Between the host and a device by way of pinned memory, in pieces that take turns: while one travels the host fills or
// empties the next. Pageable memory would be copied twice by the driver, and waited for.
class Staging {
 public:
  explicit Staging(const Stream& stream);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Queued; the host's bytes have been read when it returns.
  void upload(std::span<const std::byte> from, std::byte* to);
  // Waits for everything that the stream holds.
  void download(const std::byte* from, std::span<std::byte> to);

 private:
  static constexpr size_t kPieceBytes = size_t{4} << 20;
  static constexpr size_t kPieces = 4;
  // Pinned memory, and the mark after the last copy that uses it.
  struct Piece {
    explicit Piece(int device);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    std::byte* memory = nullptr;
    Event done;
  };
  // The piece that was used the longest ago, once its copy is done.
  Piece& next();

  const Stream& stream_;
  std::array<Piece, kPieces> pieces_;
  size_t turn_ = 0;
};

}  // namespace weft::cuda
