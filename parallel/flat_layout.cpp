#include "parallel/flat_layout.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int64_t kAlignment = 64;  // elements: every parameter starts on a cache line in any dtype

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

FlatRange overlap(const FlatRange& a, const FlatRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

FlatLayout make_flat_layout(std::span<const int64_t> sizes, size_t element_bytes, const Sharding& sharding, int dp_rank,
                            int dp_size) {
  FlatLayout layout;
  const auto count = static_cast<int64_t>(sizes.size());
  layout.offsets.resize(sizes.size());
  layout.bucket_of.resize(sizes.size());
  if (dp_size > 1) layout.zero = sharding.zero;
  const int64_t limit = std::max<int64_t>(sharding.bucket_bytes / static_cast<int64_t>(element_bytes), 1);
  // From the end: which parameters share a bucket.
  std::vector<int64_t> first_of;  // parameter that begins each bucket
  int64_t filled = 0;
  for (int64_t i = count - 1; i >= 0; --i) {
    filled += round_up(sizes[i], kAlignment);
    layout.bucket_of[i] = static_cast<int>(first_of.size());
    if (filled < limit && i > 0) continue;
    first_of.push_back(i);
    filled = 0;
  }
  // From the beginning: where they lie.
  layout.buckets.resize(first_of.size());
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    FlatRange& bucket = layout.buckets[layout.bucket_of[i]];
    if (first_of[layout.bucket_of[i]] == i) bucket.begin = at;
    layout.offsets[i] = at;
    at += round_up(sizes[i], kAlignment);
    const bool last = i + 1 == count || layout.bucket_of[i + 1] != layout.bucket_of[i];
    if (last && layout.sharded()) at = bucket.begin + round_up(at - bucket.begin, kAlignment * dp_size);
    if (last) bucket.end = at;
  }
  layout.elements = at;
  if (!layout.sharded()) {
    layout.owned = {{0, at}};
    layout.owned_elements = at;
    return layout;
  }
  for (const FlatRange& bucket : layout.buckets) {
    const int64_t share = bucket.size() / dp_size, begin = bucket.begin + share * dp_rank;
    layout.owned.push_back({begin, begin + share});
    layout.owned_elements += share;
  }
  return layout;
}

FlatBuffer FlatBuffer::whole(const FlatLayout& layout, Tensor data) {
  std::vector<Owned> owned;
  for (const FlatRange& range : layout.owned) owned.push_back({range, range.begin});
  return {std::move(data), std::move(owned)};
}

FlatBuffer FlatBuffer::shard(const FlatLayout& layout, Tensor data) {
  std::vector<Owned> owned;
  int64_t begin = 0;
  for (const FlatRange& range : layout.owned) {
    owned.push_back({range, begin});
    begin += range.size();
  }
  return {std::move(data), std::move(owned)};
}

Tensor FlatBuffer::piece(const FlatRange& part) const {
  const auto at = std::ranges::partition_point(owned_, [&](const Owned& o) { return o.range.begin > part.begin; });
  require<InternalError>(at != owned_.end() && part.end <= at->range.end, "elements {} to {} are not in an owned range",
                         part.begin, part.end);
  return data.flat(at->begin + part.begin - at->range.begin, Shape{part.size()});
}

std::vector<FlatRange> FlatBuffer::parts(const FlatRange& range) const {
  std::vector<FlatRange> parts;
  for (const Owned& o : owned_) {
    const FlatRange part = overlap(o.range, range);
    if (part.size() > 0) parts.push_back(part);
  }
  return parts;
}

}  // namespace weft
