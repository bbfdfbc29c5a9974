#include "data/open_shards.h"

#include <algorithm>

namespace weft {

OpenShards::OpenShards(fs::path directory, std::vector<ShardEntry> entries, ShardIdentity identity, size_t limit)
    : directory_(std::move(directory)),
      entries_(std::move(entries)),
      identity_(std::move(identity)),
      limit_(std::max<size_t>(1, limit)) {}

std::shared_ptr<const Shard> OpenShards::open(size_t i) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, i, [](const auto& kept) { return kept.first; });
  if (found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().second;
  }
  auto shard = std::make_shared<const Shard>(directory_ / entries_[i].file, entries_[i], identity_);
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
