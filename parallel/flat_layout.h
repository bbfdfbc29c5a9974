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
};

// What the dp replicas divide among themselves (ZeRO, Rajbhandari et al. 2020).
enum class ZeroStage : uint8_t {
  Whole = 0,      // nothing: every replica holds all optimizer state
  Optimizer = 1,  // master weights and moments
  Gradients = 2,  // gradients too: they are never held whole
};

struct Sharding {
  ZeroStage zero = ZeroStage::Whole;
  int64_t bucket_bytes = int64_t{8} << 20;  // of gradients reduced at once
};

// A range that this rank owns, and where it begins in buffers that hold owned ranges only, end to end.
struct OwnedRange {
  FlatRange flat;
  int64_t begin_in_shard = 0;
};

// Where parameters lie in the flat buffers, the buckets in which their gradients are reduced, and what this dp rank
// owns of each. Buckets are cut from the end of the buffer, since the last layers' gradients are ready first.
struct FlatLayout {
  std::vector<int64_t> offsets;    // of each parameter
  std::vector<FlatRange> buckets;  // in the order of their reduction: the last parameters' bucket first
  std::vector<int> bucket_of;      // of each parameter
  std::vector<OwnedRange> owned;   // one a bucket where sharded, else one for all
  int64_t elements = 0;            // of a whole buffer
  int64_t owned_elements = 0;
  bool sharded = false;
};

// `sizes` are the local elements of each parameter in order of declaration; `element_bytes` those of a gradient.
// Sharded buckets are padded so that every dp rank owns as much of them.
FlatLayout make_flat_layout(std::span<const int64_t> sizes, size_t element_bytes, const Sharding& sharding, int dp_rank,
                            int dp_size);

// A buffer laid out as the parameters: whole, or only what this rank owns of it.
struct FlatBuffer {
  Tensor data;
  bool whole = true;
  // The elements `part` of `range`, which contains them.
  Tensor piece(const OwnedRange& range, const FlatRange& part) const {
    const int64_t begin = whole ? part.begin : range.begin_in_shard + part.begin - range.flat.begin;
    return data.flat(begin, Shape{part.size()});
  }
  Tensor piece(const OwnedRange& range) const { return piece(range, range.flat); }
};

// What two ranges have in common; empty ranges have a size of 0 or less.
FlatRange overlap(const FlatRange& a, const FlatRange& b);

}  // namespace weft
