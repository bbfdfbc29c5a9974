// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "kernels/cuda/attention/tiles.cuh"

// Sizes of a block of threads, for heads of kWidth columns of T. They follow from registers (65,536 a multiprocessor,
// 255 a thread) and from shared memory: two blocks of bf16 and 64 columns fit a multiprocessor of sm_80 and of sm_90,
// and one block of any kind fits every device.
namespace weft::cuda {

// The shared memory that a block may have on each device from sm_80 on: sm_86, sm_89 and sm_120 have no more.
constexpr size_t kSharedOfAnyDevice = size_t{99} << 10;

// Sizes that forward, backward and cached attention share. A head wider than kMostColumns is summed in parts by
// separate blocks, as many columns as registers hold sums of. kWarpsOfWide: of blocks for rows of a KiB.
template <class T, int kWidth, int kMostColumns, int kWarpsOfWide>
struct AttentionBlockShape {
  using Element = T;
  static constexpr int kHeadWidth = kWidth;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes <= 512 ? 4 : kWarpsOfWide;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kColumns = kWidth <= 128 ? kWidth : kMostColumns;
  static constexpr int kParts = kWidth / kColumns;
};

// Forward: kRowBlocks times 16 query rows per warp, and as many keys per tile as 16 KiB hold. The blocks of a wide head
// compute the same weights.
template <class T, int kWidth, int kOfRowBlocks = 1>
struct AttentionShape : AttentionBlockShape<T, kWidth, 128, 2> {
  using Base = AttentionBlockShape<T, kWidth, 128, 2>;
  static constexpr int kRowBlocks = kOfRowBlocks, kRowBytes = Base::kRowBytes;
  static constexpr int kBlocks = kRowBytes <= 128 && kRowBlocks == 1 ? 3 : 2;  // per multiprocessor, by registers
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
template <class T, int kWidth, int kGradients>
struct AttentionGradientShape : AttentionBlockShape<T, kWidth, 128 / kGradients, 1> {
  using Base = AttentionBlockShape<T, kWidth, 128 / kGradients, 1>;
  static constexpr int kRowBytes = Base::kRowBytes;
  static constexpr int kBlocks = 2;  // per multiprocessor, by registers
  static constexpr int kOwn = Base::kWarps * kWarpRows;
  static constexpr int kOther = kRowBytes <= 128 ? 64 : kRowBytes <= 256 ? 32 : 16;
  static constexpr size_t kOwnBytes = static_cast<size_t>(kOwn) * kRowBytes;
  static constexpr size_t kOtherBytes = static_cast<size_t>(kOther) * kRowBytes;
  static constexpr size_t kStatsBytes = 4 * kOther * sizeof(float);  // QueryNumbers of a tile
  static constexpr size_t kSharedBytes = 2 * kOwnBytes + 4 * kOtherBytes + 2 * kStatsBytes;
  static_assert(kSharedBytes <= kSharedOfAnyDevice);
};

}  // namespace weft::cuda
