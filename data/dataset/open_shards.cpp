// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/open_shards.h"

#include <algorithm>

namespace weft {

OpenShards::OpenShards(std::vector<ShardFile> files, size_t limit)
    : files_(std::move(files)), limit_(std::max<size_t>(1, limit)) {}

std::shared_ptr<const Shard> OpenShards::open(size_t i) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, i, [](const auto& kept) { return kept.first; });
  if (found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().second;
  }
  const auto& [directory, entry, identity] = files_[i];
  auto shard = std::make_shared<const Shard>(directory / entry.file, entry, *identity);
  ++opened_;
  if (kept_.size() == limit_) kept_.erase(kept_.begin());
  kept_.emplace_back(i, shard);
  return shard;
}

int64_t OpenShards::opened() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

}  // namespace weft
