// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/digest/state_digest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "checkpoint/parts/part.h"
#include "kernels/transfer.h"
#include "parallel/halves.h"

namespace weft {

ArrayDigest::ArrayDigest(const StoredArray& array) : array_(array) {}

void ArrayDigest::add(std::span<const std::byte> bytes) {
  const auto width = static_cast<int64_t>(size_of(array_.dtype));
  const std::byte* next = bytes.data();
  for (int64_t left = std::ssize(bytes) / width; left > 0;) {
    const Stretch& stretch = array_.stretches[stretch_];
    const int64_t taken = std::min(left, stretch.elements() - at_);
    const uint64_t key = hash64(array_.buffer + "/" + stretch.name);
    for (const Box& box : boxes_of(stretch, at_, at_ + taken)) {
      for (const ElementRun& run : runs_of(stretch.shape, box)) {
        const std::span of_run(next, static_cast<size_t>(run.elements * width));
        const auto index = static_cast<uint64_t>(run.index);
        sum_ += width == 4 ? digest_of_run<uint32_t>(key, index, of_run) : digest_of_run<uint64_t>(key, index, of_run);
        next += of_run.size();
      }
    }
    left -= taken;
    at_ += taken;
    if (at_ == stretch.elements()) ++stretch_, at_ = 0;
  }
}

uint64_t digest_of(Context& context, std::span<const OwnedArray> arrays) {
  const std::vector<StoredArray> stored = stored_arrays(arrays);
  std::vector<std::byte> copy;
  uint64_t sum = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    ArrayDigest digest(stored[i]);
    for (const OwnedArray::Piece& piece : arrays[i].pieces) {
      copy.resize(piece.data.bytes());
      download_bytes(context, piece.data, copy);
      digest.add(copy);
      context.note_progress();
    }
    sum += digest.sum();
  }
  return sum;
}

// A later field of the state must add to this text only where it differs from its default: older checkpoints, which
// lack it, keep their digest.
uint64_t digest_of(const RunState& s) {
  std::string text = fmt::format(
      "step {} updates {} epoch {} step in epoch {} target tokens {} skips {} in a row {} rollbacks {} epoch end {}",
      s.step, s.updates, s.position.epoch, s.position.step, s.target_tokens, s.skips, s.skips_in_row, s.rollbacks,
      s.epoch_end);
  if (!s.recent_losses.empty()) {
    text += fmt::format(" recent losses {} norms {}", fmt::join(s.recent_losses, " "), fmt::join(s.recent_norms, " "));
  }
  if (!s.exponents.empty()) text += fmt::format(" exponents {}", fmt::join(s.exponents, " "));
  return hash64(text);
}

uint64_t sum_of_digests(Communicator& world, uint64_t mine) {
  std::array<double, 2> sum = halves(mine);
  world.all_reduce_host(sum, ReduceOp::Sum);
  return from_halves(sum.data());
}

}  // namespace weft
