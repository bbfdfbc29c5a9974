// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/tuning.h"

// Sizes of a block of threads, for heads of kWidth columns of T. They follow from registers (65,536 a multiprocessor,
// 255 a thread) and from shared memory: blocks of bf16 and 64 columns fit a multiprocessor of sm_90 as often as
// registers allow, those of long sequences one of sm_80 too, and one block of any kind fits every device.
namespace weft::cuda {

// The shared memory that a block may have on each device from sm_80 on: sm_86, sm_89 and sm_120 have no more.
constexpr size_t kSharedOfAnyDevice = size_t{99} << 10;

// Sizes that forward, backward and cached attention share. A head wider than kMostColumns is summed in parts by
// separate blocks, as many columns as registers hold sums of. kWarpsOfWide: of blocks for rows of a KiB.
template <class T, int kWidth, int kMostColumns, int kWarpsOfWide, int kMostWarps>
struct AttentionBlockShape {
  using Element = T;
  static constexpr int kHeadWidth = kWidth;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes <= 512 ? kMostWarps : kWarpsOfWide;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kColumns = kWidth <= 128 ? kWidth : kMostColumns;
  static constexpr int kParts = kWidth / kColumns;
};

// Heads whose sums leave registers for more than 8 warps on a multiprocessor. Those are faster than 8 warps of two
// blocks of 16 rows each, which would share the fragments of the other tile (bench/README.md).
template <class T, int kWidth>
inline constexpr bool kNarrowHeads = sizeof(T) == 2 && kWidth <= 64;

// Calls f.template operator()<kMostWarps>() for that many rows in that many sequences. A block of short sequences has
// two warps if heads are narrow: fewer of its rows lie beyond the end of a sequence, and more blocks share a
// multiprocessor. A row's result has the same bits either way: which rows share a block does not matter, and tiles of
// keys are the same.
template <class T, int kWidth, class F>
void with_warps(int64_t rows, int64_t sequences, F&& f) {
  if constexpr (kNarrowHeads<T, kWidth>) {
    if (rows <= sequences * tuning::kShortSequence) return f.template operator()<2>();
  }
  f.template operator()<4>();
}

// Forward: 16 query rows per warp, and as many keys per tile as 16 KiB hold. The blocks of a wide head compute the same
// weights.
template <class T, int kWidth, int kMostWarps = 4>
struct AttentionShape : AttentionBlockShape<T, kWidth, 128, 2, kMostWarps> {
  using Base = AttentionBlockShape<T, kWidth, 128, 2, kMostWarps>;
  static constexpr int kRowBytes = Base::kRowBytes;
  static constexpr int kResident = kRowBytes <= 128 ? 12 : 8;  // warps of a multiprocessor, by registers
  static constexpr int kBlocks = kRowBytes <= 512 ? kResident / kMostWarps : 2;
  static constexpr int kRows = Base::kWarps * kWarpRows;
  static constexpr int kKeys = kRowBytes <= 256 ? 64 : 16384 / kRowBytes;
  static constexpr size_t kQueryBytes = static_cast<size_t>(kRows) * kRowBytes;
  static constexpr size_t kKeyBytes = static_cast<size_t>(kKeys) * kRowBytes;
  static constexpr size_t kValueBytes = kKeyBytes / Base::kParts;
  static constexpr size_t kSharedBytes = kQueryBytes + 2 * (kKeyBytes + kValueBytes);  // keys and values twice
  static_assert(kSharedBytes <= kSharedOfAnyDevice);
};

// Backward: the rows whose gradients a block makes stay in shared memory; the rows that these are made from come in
// tiles. kGradients: the number of gradients, one (dQ) or two (dK and dV).
template <class T, int kWidth, int kGradients, int kMostWarps>
struct AttentionGradientShape : AttentionBlockShape<T, kWidth, 128 / kGradients, 1, kMostWarps> {
  using Base = AttentionBlockShape<T, kWidth, 128 / kGradients, 1, kMostWarps>;
  static constexpr int kRowBytes = Base::kRowBytes;
  static constexpr bool kNarrow = kNarrowHeads<T, kWidth>, kShort = kMostWarps < 4;
  // Blocks per multiprocessor, by registers. Sums of keys are twice as many.
  static constexpr int kBlocks = !kNarrow ? 2 : kShort ? 6 : kGradients == 2 ? 3 : 4;
  static constexpr int kOwn = Base::kWarps * kWarpRows;
  static constexpr int kOther = kRowBytes > 256 ? 16 : kRowBytes > 128 || kNarrow ? 32 : 64;
  // Sums of narrow keys leave few registers: there a tile's scores become gradients step by step, and of short
  // sequences few fragments are on the way at once.
  static constexpr bool kTight = kGradients == 2 && kNarrow;
  static constexpr int kStep = kTight ? 16 : kOther, kAtOnce = kTight && kShort ? 1 : 4;
  static constexpr size_t kOwnBytes = static_cast<size_t>(kOwn) * kRowBytes;
  static constexpr size_t kOtherBytes = static_cast<size_t>(kOther) * kRowBytes;
  static constexpr size_t kStatsBytes = 4 * kOther * sizeof(float);  // QueryNumbers of a tile
  static constexpr size_t kSharedBytes = 2 * kOwnBytes + 4 * kOtherBytes + 2 * kStatsBytes;
  static_assert(kSharedBytes <= kSharedOfAnyDevice);
};

}  // namespace weft::cuda
