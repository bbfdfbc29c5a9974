// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/flat_layout.h"

#include <algorithm>
#include <numeric>

#include "base/divide_up.h"

namespace weft {
namespace {

constexpr int64_t kAlignment = 64;  // elements: every parameter starts on a cache line in any dtype

int64_t round_up(int64_t n, int64_t multiple) { return divide_up(n, multiple) * multiple; }

// Indices of parameters in the order of memory.
std::vector<size_t> frozen_first(size_t count, const std::vector<bool>& frozen) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (!frozen.empty()) std::ranges::stable_partition(order, [&](size_t i) { return frozen[i]; });
  return order;
}

void own_shares(FlatLayout& layout, int dp_rank, int dp_size) {
  if (layout.sharded()) {
    for (const FlatRange& bucket : layout.buckets) {
      layout.owned.push_back(equal_part(bucket, dp_rank, dp_size));
    }
    layout.trained_owned = layout.trained_buckets;
  } else {
    layout.owned = {{layout.trained_begin, layout.elements}};
    layout.trained_owned = 1;
    if (layout.trained_begin > 0) layout.owned.push_back({0, layout.trained_begin});
  }
  for (size_t i = 0; i < layout.owned.size(); ++i) {
    layout.owned_elements += layout.owned[i].size();
    if (i < layout.trained_owned) layout.trained_owned_elements += layout.owned[i].size();
  }
}

}  // namespace

FlatRange overlap(const FlatRange& a, const FlatRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

FlatRange equal_part(const FlatRange& range, int part, int parts) {
  const int64_t size = range.size() / parts, begin = range.begin + size * part;
  return {begin, begin + size};
}

FlatLayout make_flat_layout(std::span<const int64_t> sizes, size_t element_bytes, const Sharding& sharding, int dp_rank,
                            int dp_size, const std::vector<bool>& frozen) {
  FlatLayout layout;
  const auto count = static_cast<int64_t>(sizes.size());
  const std::vector<size_t> order = frozen_first(sizes.size(), frozen);
  const int64_t first_trained = std::ranges::count(frozen, true);
  layout.offsets.resize(sizes.size());
  layout.bucket_of.resize(sizes.size());
  if (dp_size > 1) layout.zero = sharding.zero;
  const bool parted = layout.sharded() || sharding.exact;
  const int64_t limit = std::max<int64_t>(sharding.bucket_bytes / static_cast<int64_t>(element_bytes), 1);
  // Groups parameters into buckets, from the end.
  std::vector<int64_t> first_of;  // the parameter that begins each bucket
  int64_t filled = 0;
  for (int64_t i = count - 1; i >= 0; --i) {
    filled += round_up(sizes[order[i]], kAlignment);
    layout.bucket_of[order[i]] = static_cast<int>(first_of.size());
    if (filled < limit && i > 0 && i != first_trained) continue;
    first_of.push_back(i);
    filled = 0;
    if (i >= first_trained) layout.trained_buckets = first_of.size();
  }
  // Sets the offsets of the parameters, from the beginning.
  layout.buckets.resize(first_of.size());
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int in = layout.bucket_of[order[i]];
    FlatRange& bucket = layout.buckets[in];
    if (i == first_trained) layout.trained_begin = at;
    if (first_of[in] == i) bucket.begin = at;
    layout.offsets[order[i]] = at;
    at += round_up(sizes[order[i]], kAlignment);
    const bool last = i + 1 == count || layout.bucket_of[order[i + 1]] != in;
    if (last && parted) at = bucket.begin + round_up(at - bucket.begin, kAlignment * dp_size);
    if (last) bucket.end = at;
  }
  layout.elements = at;
  own_shares(layout, dp_rank, dp_size);
  return layout;
}

FlatBuffer FlatBuffer::around(std::span<const FlatRange> ranges, int64_t first, Tensor data) {
  std::vector<Owned> owned;
  for (const FlatRange& range : ranges) owned.push_back({range, range.begin - first});
  return {std::move(data), std::move(owned)};
}

FlatBuffer FlatBuffer::end_to_end(std::span<const FlatRange> ranges, Tensor data) {
  std::vector<Owned> owned;
  int64_t begin = 0;
  for (const FlatRange& range : ranges) {
    owned.push_back({range, begin});
    begin += range.size();
  }
  return {std::move(data), std::move(owned)};
}

FlatBuffer FlatBuffer::whole(const FlatLayout& layout, Tensor data) { return around(layout.owned, 0, std::move(data)); }

FlatBuffer FlatBuffer::shard(const FlatLayout& layout, Tensor data) {
  return end_to_end(layout.owned, std::move(data));
}

FlatBuffer FlatBuffer::trained_whole(const FlatLayout& layout, Tensor data) {
  return around(std::span(layout.owned).first(layout.trained_owned), layout.trained_begin, std::move(data));
}

FlatBuffer FlatBuffer::trained_shard(const FlatLayout& layout, Tensor data) {
  return end_to_end(std::span(layout.owned).first(layout.trained_owned), std::move(data));
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
