// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/staging.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "kernels/cuda/runtime/errors.h"

namespace weft::cuda {

Staging::Piece::Piece(int device) : done(device) {
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, kPieceBytes), "allocating pinned host memory");
  memory = static_cast<std::byte*>(pinned);
}
Staging::Piece::~Piece() { check_quietly(cudaFreeHost(memory), "freeing pinned host memory"); }

Staging::Staging(const Stream& stream)
    : stream_(stream),
      pieces_{Piece(stream.device()), Piece(stream.device()), Piece(stream.device()), Piece(stream.device())} {}

// The copies read or write pinned memory that is freed next.
Staging::~Staging() {
  for (const Piece& piece : pieces_) check_quietly(cudaEventSynchronize(piece.done.get()), "waiting for a copy");
}

Staging::Piece& Staging::next() {
  Piece& piece = pieces_[turn_++ % kPieces];
  piece.done.wait();
  return piece;
}

void Staging::upload(std::span<const std::byte> from, std::byte* to) {
  select_device(stream_.device());
  while (!from.empty()) {
    const std::span<const std::byte> now = from.first(std::min(from.size(), kPieceBytes));
    const Piece& piece = next();
    std::memcpy(piece.memory, now.data(), now.size());
    check(cudaMemcpyAsync(to, piece.memory, now.size(), cudaMemcpyHostToDevice, stream_.get()),
          "copying to the device");
    stream_.record(piece.done);
    from = from.subspan(now.size()), to += now.size();
  }
}

void Staging::download(const std::byte* from, std::span<std::byte> to) {
  select_device(stream_.device());
  struct Coming {
    const Piece* piece;
    std::span<std::byte> to;
  };
  std::deque<Coming> coming;
  const auto arrive = [&coming] {
    const Coming& first = coming.front();
    first.piece->done.wait();
    std::memcpy(first.to.data(), first.piece->memory, first.to.size());
    coming.pop_front();
  };
  while (!to.empty()) {
    if (coming.size() == kPieces) arrive();
    const std::span<std::byte> now = to.first(std::min(to.size(), kPieceBytes));
    const Piece& piece = next();
    check(cudaMemcpyAsync(piece.memory, from, now.size(), cudaMemcpyDeviceToHost, stream_.get()),
          "copying from the device");
    stream_.record(piece.done);
    coming.push_back({&piece, now});
    to = to.subspan(now.size()), from += now.size();
  }
  while (!coming.empty()) arrive();
  stream_.finish();
}

}  // namespace weft::cuda
