// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

// Sizes that kernels and copies work in. They follow from the limits of the devices they are made for and from the
// registers that the compiler counts (bench/README.md), not from measured times. Limits: sm_80 (A100) and sm_90 (H100)
// have 108 and 132 multiprocessors, each with 65,536 registers, 2,048 threads and 163 or 227 KiB of shared memory for a
// block; sm_86 and sm_89 have 1,536 threads and 99 KiB. Sizes that decide the order of a sum, and so its bits, are
// marked "order". Sizes that follow from the width of a head are in attention/shape.cuh.
namespace weft::cuda::tuning {

// Kernels over elements. 256 threads divide 2,048 and 1,536, so blocks fill every multiprocessor.
constexpr int kElementThreads = 256;
// Pieces of 16 bytes of each buffer that a thread updates: one search for the span and one rounding of its factors
// serve 16 elements.
constexpr int kUpdatePieces = 4;
// Pieces of two elements in fixed point that a thread takes: a block adds to its parameter's facts once for 4,096
// elements, which all blocks do at the same four addresses.
constexpr int kFixedPointPieces = 8;
// Pieces of 16 bytes of a tensor whose digest is taken: a block adds once for 32 KiB.
constexpr int kDigestPieces = 8;

// Kernels over rows. The most threads for one row, and for one block: two blocks leave each thread 72 registers.
constexpr int kRowThreads = 448;
// Threads of a block whose rows need fewer. The backward of a norm takes more rows at once: it adds their columns in
// shared memory, with one store a block.
constexpr int kRowBlockThreads = 256;
constexpr int kNormBackwardThreads = kRowThreads;
// Column sums of a norm's backward: runs of rows, at most one for each block of a large device (132 multiprocessors
// with two blocks each), at least 16 rows in each, so that their sums are few beside the rows. Order.
constexpr int64_t kNormRuns = 256, kNormRunRows = 16;

// Queries and keys before attention: threads of a block, of which a few neighbours share a head.
constexpr int kHeadThreads = 256;

// Column sums: chunks of rows, about one for each multiprocessor; at least 64 rows in each, so that their sums in f32
// are 3 % of the chunk in bf16. A block's 8 warps take the rows of a chunk in turn. Order.
constexpr int64_t kMostRowChunks = 128, kLeastChunkRows = 64;
constexpr int kChunkWarps = 8;
// Sums over all elements: what one block adds up. Order.
constexpr int64_t kSumBlock = 16384;

// Gradients of a table: rows of a chunk, one for each lane of a warp (order), and rows whose elements a thread asks for
// at once.
constexpr int kIndexChunk = 32, kIndexBatch = 4;

// Cross-entropy: the most threads of a block, and pieces of 16 bytes that each of them has of a row at least. A block
// keeps its row in shared memory; 64 registers for each thread let two blocks of smaller rows work on a multiprocessor,
// and a block has this much shared memory of its own. Threads and pieces: order.
constexpr int kCrossEntropyThreads = 512, kCrossEntropyPieces = 8;
constexpr int kCrossEntropyOwnBytes = 1 << 10;
// Choice of tokens: the most threads that leave 128 registers each; rows are long and texts are few.
constexpr int kChooseThreads = 512;

// Products with packed weights: warps of a block, an output each, and rows of x that a weight in registers serves.
constexpr int kPackedWarps = 4, kPackedRows = 8;

// Cached attention: keys of a chunk (order); a sequence and group with at most so many rows, as in decoding, has a
// block for each chunk, since its rows alone would leave most multiprocessors idle.
constexpr int kCacheChunk = 128;
constexpr int64_t kFewCacheRows = 64;
constexpr int kCacheJoinThreads = 128;
// Attention has blocks of two warps where sequences have at most so many rows in the mean: a tile of four warps.
constexpr int64_t kShortSequence = 64;

// cuBLASLt: numbers of rows that share an algorithm, candidates that are measured, times that each is measured, and the
// workspace that NVIDIA's manual recommends for sm_90.
constexpr int64_t kProductRowStep = 64;
constexpr int kProductCandidates = 8, kProductRepeats = 4;
constexpr size_t kProductWorkspaceBytes = size_t{32} << 20;
// Products that are prepared: Transformer-Base has 40 shapes for each of 75 lengths of batches. One takes a kilobyte.
constexpr size_t kMostPreparedProducts = 4096;
// Weft's own product, of those that cuBLASLt does not offer: elements of a tile's side and of its depth. 256 threads
// with 16 sums each read half a float for every one that they add.
constexpr int kOwnProductTile = 64, kOwnProductDepth = 16;
// cuDNN: plans that are kept (windows of one length have a few), and the shortest sequences that it computes. A plan
// takes tenths of a second to build, and batches of pairs keep changing their shapes.
constexpr size_t kMostPlans = 64;
// The first capability on which cuDNN's attention is the default: on an H200 (sm_90) it takes 10.7 ms of a step of
// GPT-2 124M, weft's own 18.9.
constexpr int kLibraryAttentionCapability = 90;
// The most that it may work in there: a backward of 32 windows of 1,024 tokens and 12 heads takes 0.8 GB.
constexpr size_t kMostAttentionWorkspace = size_t{2} << 30;
constexpr int64_t kShortestWindow = 64;

// Pinned memory between host and device: pieces in turn, so that one travels while the host fills or empties another.
constexpr size_t kStagingPieceBytes = size_t{4} << 20, kStagingPieces = 4;

// Tiles of tensor cores are up to 128 wide.
constexpr int64_t kVocabularyMultiple = 128;
// The output layer's logits: each chunk adds to the whole gradient of the weight, 154 MB of GPT-2 124M in fp32, which
// is read and written in as much time as 1,300 rows are multiplied in; a GiB has 5,248 of its rows. Order.
constexpr int64_t kLogitsBytes = int64_t{1} << 30, kLogitsRowStep = kVocabularyMultiple;

}  // namespace weft::cuda::tuning
