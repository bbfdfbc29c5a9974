// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace weft {

// Elements [begin, end) of the flat buffers.
struct FlatRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};
// The intersection of two ranges; an empty one has a size of 0 or less.
FlatRange overlap(const FlatRange& a, const FlatRange& b);
// One of `parts` equal parts of a range whose size they divide.
FlatRange equal_part(const FlatRange& range, int part, int parts);

// What the dp replicas divide among themselves (ZeRO, Rajbhandari et al. 2020).
enum class ZeroStage : uint8_t {
  Whole = 0,      // nothing: every replica holds all optimizer state
  Optimizer = 1,  // master weights and moments
  Gradients = 2,  // gradients too: they are never held whole
};

// What replicas send of their gradients: whole values of the accumulator's dtype, or values rounded to bf16, which are
// still added in fp32 (RoundedSum in parallel/rank_order_sums.h).
enum class GradientDType : uint8_t { Fp32, Bf16 };

struct Sharding {
  ZeroStage zero = ZeroStage::Whole;
  GradientDType gradients = GradientDType::Fp32;
  bool exact = false;                       // their sums are exact (parallel/parameters/exact_sums.h)
  int64_t bucket_bytes = int64_t{8} << 20;  // bytes of gradients that are reduced at once
};

// Where parameters lie in the flat buffers, the buckets in which their gradients are reduced, and the share of each
// bucket that this dp rank owns. Buckets are cut from the end of the buffer, since the last layers' gradients are ready
// first. Frozen parameters come first, before `trained_begin`, in separate buckets, which are never reduced; buffers of
// gradients and moments leave them out.
struct FlatLayout {
  std::vector<int64_t> offsets;    // offset of each parameter
  std::vector<FlatRange> buckets;  // in the order of their reduction: the last parameters' bucket first
  std::vector<int> bucket_of;      // bucket of each parameter
  std::vector<FlatRange> owned;    // a share of each bucket if the replicas divide anything, else one range of all
                                   // trained parameters and one of all frozen ones
  int64_t elements = 0;            // elements of a whole buffer
  int64_t owned_elements = 0;
  int64_t trained_begin = 0;                      // 0: nothing is frozen
  size_t trained_buckets = 0, trained_owned = 0;  // numbers of trained buckets and owned ranges, which come first
  int64_t trained_owned_elements = 0;
  ZeroStage zero = ZeroStage::Whole;  // Whole if there is only one replica
  bool sharded() const { return zero != ZeroStage::Whole; }
};

// `sizes` are the local elements of each parameter in order of declaration; `element_bytes` is the size of a gradient
// element. Sharded buckets, and all whose sums are exact, are padded so that every dp rank owns or sums an equal part.
// `frozen` is by parameter, or empty.
FlatLayout make_flat_layout(std::span<const int64_t> sizes, size_t element_bytes, const Sharding& sharding, int dp_rank,
                            int dp_size, const std::vector<bool>& frozen = {});

// A buffer laid out as the parameters are, seen through the ranges that this rank owns. Its memory holds only these
// ranges, or the whole buffer around them.
class FlatBuffer {
 public:
  FlatBuffer() = default;
  static FlatBuffer whole(const FlatLayout& layout, Tensor data);  // [elements]
  static FlatBuffer shard(const FlatLayout& layout, Tensor data);  // [owned_elements], the ranges end to end
  // These two cover the trained part alone.
  static FlatBuffer trained_whole(const FlatLayout& layout, Tensor data);  // [elements - trained_begin]
  static FlatBuffer trained_shard(const FlatLayout& layout, Tensor data);  // [trained_owned_elements]

  // The elements of `part`; InternalError unless they lie in one owned range.
  Tensor piece(const FlatRange& part) const;
  // The parts of `range` that this rank owns, in the order of owned ranges.
  std::vector<FlatRange> parts(const FlatRange& range) const;

  Tensor data;

 private:
  struct Owned {
    FlatRange range;
    int64_t begin;  // index in data of its first element
  };
  static FlatBuffer around(std::span<const FlatRange> owned, int64_t first, Tensor data);
  static FlatBuffer end_to_end(std::span<const FlatRange> owned, Tensor data);
  FlatBuffer(Tensor tensor, std::vector<Owned> owned) : data(std::move(tensor)), owned_(std::move(owned)) {}
  std::vector<Owned> owned_;  // from the end of the buffer to its beginning
};

}  // namespace weft
