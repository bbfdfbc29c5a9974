// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/tuning.h"

// Sizes of a block of threads, for heads of kWidth columns of T. They follow from registers (65,536 a multiprocessor,
// 255 a thread) and from shared memory: two blocks of bf16 and 64 columns fit a multiprocessor of sm_80 and of sm_90,
// and one block of any kind fits every device.
namespace weft::cuda {

// The shared memory that a block may have on each device from sm_80 on: sm_86, sm_89 and sm_120 have no more.
constexpr size_t kSharedOfAnyDevice = size_t{99} << 10;

// Sizes that forward, backward and cached attention share. A head wider than kMostColumns is summed in parts by
// separate blocks, as many columns as registers hold sums of. kWarpsOfWide: of blocks for rows of a KiB.
template <class T, int kWidth, int kMostColumns, int kWarpsOfWide, int kOfWarps>
struct AttentionBlockShape {
  using Element = T;
  static constexpr int kHeadWidth = kWidth;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes <= 512 ? kOfWarps : kWarpsOfWide;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kColumns = kWidth <= 128 ? kWidth : kMostColumns;
  static constexpr int kParts = kWidth / kColumns;
};

// How many blocks of 16 rows a warp of forward and backward takes of long sequences. A tensor core needs 4 cycles for
// what one ldmatrix of 4 cycles brings it, of the other tile, and a block of 16 rows: with one, shared memory is at
// least as busy as they are. Two need registers that bf16 of narrow heads leaves.
template <class T, int kWidth>
inline constexpr int kMostRowBlocks = sizeof(T) == 2 && kWidth <= 64 ? 2 : 1;

// Where that is two, a warp of short sequences takes one, and a block has two warps: fewer of its rows lie beyond the
// end of a sequence, and more blocks share a multiprocessor.
template <class T, int kWidth, int kRowBlocks>
inline constexpr int kAttentionWarps = kRowBlocks < kMostRowBlocks<T, kWidth> ? 2 : 4;

// Calls f.template operator()<kRowBlocks>() for that many rows in that many sequences. A row's result has the same bits
// either way: which rows share a warp or a block does not matter, and tiles of keys are the same.
template <class T, int kWidth, class F>
void with_row_blocks(int64_t rows, int64_t sequences, F&& f) {
  constexpr int kMost = kMostRowBlocks<T, kWidth>;
  if (kMost > 1 && rows <= sequences * tuning::kShortSequence) return f.template operator()<1>();
  f.template operator()<kMost>();
}

// Forward: kRowBlocks times 16 query rows per warp, and as many keys per tile as 16 KiB hold. The blocks of a wide head
// compute the same weights.
template <class T, int kWidth, int kOfRowBlocks = 1, int kOfWarps = 4>
struct AttentionShape : AttentionBlockShape<T, kWidth, 128, 2, kOfWarps> {
  using Base = AttentionBlockShape<T, kWidth, 128, 2, kOfWarps>;
  static constexpr int kRowBlocks = kOfRowBlocks, kRowBytes = Base::kRowBytes;
  static constexpr int kWarpsOfAll = kRowBytes <= 128 && kRowBlocks == 1 ? 12 : 8;  // of a multiprocessor, by registers
  static constexpr int kBlocks = kRowBytes <= 512 ? kWarpsOfAll / kOfWarps : 2;
  static constexpr int kRows = Base::kWarps * kRowBlocks * kWarpRows;
  static constexpr int kKeys = kRowBytes <= 256 ? 64 : 16384 / kRowBytes;
  static constexpr size_t kQueryBytes = static_cast<size_t>(kRows) * kRowBytes;
  static constexpr size_t kKeyBytes = static_cast<size_t>(kKeys) * kRowBytes;
  static constexpr size_t kValueBytes = kKeyBytes / Base::kParts;
  static constexpr size_t kSharedBytes = kQueryBytes + 2 * (kKeyBytes + kValueBytes);  // keys and values twice
  static_assert(kSharedBytes <= kSharedOfAnyDevice);
};

// Backward: the rows whose gradients a block makes stay in shared memory; the rows that these are made from come in
// tiles. kGradients: the number of gradients, one (dQ) or two (dK and dV).
template <class T, int kWidth, int kGradients, int kOfRowBlocks>
struct AttentionGradientShape
    : AttentionBlockShape<T, kWidth, 128 / kGradients, 1, kAttentionWarps<T, kWidth, kOfRowBlocks>> {
  using Base = AttentionBlockShape<T, kWidth, 128 / kGradients, 1, kAttentionWarps<T, kWidth, kOfRowBlocks>>;
  static constexpr int kRowBlocks = kOfRowBlocks, kRowBytes = Base::kRowBytes;
  static constexpr bool kShort = kRowBlocks < kMostRowBlocks<T, kWidth>;
  static constexpr int kBlocks = kShort ? 6 : 2;  // per multiprocessor, by registers
  static constexpr int kOwn = Base::kWarps * kRowBlocks * kWarpRows;
  static constexpr int kOther = kRowBytes > 256 ? 16 : kRowBytes > 128 || kMostRowBlocks<T, kWidth> > 1 ? 32 : 64;
  // Of keys, sums are twice as many: there a tile's scores become gradients step by step, and few fragments are on the
  // way at once.
  static constexpr bool kTight = kGradients == 2 && kMostRowBlocks<T, kWidth> > 1;
  static constexpr int kStep = kTight ? 16 : kOther, kAtOnce = !kTight ? 4 : kShort ? 1 : 2;
  static constexpr bool kHidden = kWidth * kRowBlocks > 64;  // of places of fragments (products.cuh)
  static constexpr size_t kOwnBytes = static_cast<size_t>(kOwn) * kRowBytes;
  static constexpr size_t kOtherBytes = static_cast<size_t>(kOther) * kRowBytes;
  static constexpr size_t kStatsBytes = 4 * kOther * sizeof(float);  // QueryNumbers of a tile
  static constexpr size_t kSharedBytes = 2 * kOwnBytes + 4 * kOtherBytes + 2 * kStatsBytes;
  static_assert(kSharedBytes <= kSharedOfAnyDevice);
};

}  // namespace weft::cuda
