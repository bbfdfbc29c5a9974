// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/dataset/shard.h"

namespace weft {

struct ShardFile {
  fs::path directory;
  ShardEntry entry;
  std::shared_ptr<const ShardIdentity> identity;
};

// The shards of a split. Each is opened and checked on its first use. At most `limit` shards stay open: a split may
// have more shards than a process may have descriptors. Every method may be called from many threads at once.
class OpenShards {
 public:
  static constexpr size_t kLimit = 64;
  explicit OpenShards(std::vector<ShardFile> files, size_t limit = kLimit);

  size_t count() const { return files_.size(); }
  const ShardEntry& entry(size_t i) const { return files_[i].entry; }
  // The shard stays open as long as the pointer is held. DataError if the file is missing or damaged.
  std::shared_ptr<const Shard> open(size_t i) const;
  int64_t opened() const;  // number of openings so far

 private:
  std::vector<ShardFile> files_;
  size_t limit_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<size_t, std::shared_ptr<const Shard>>>
      kept_;  // in the order of their last use, most recent last
  mutable int64_t opened_ = 0;
};

}  // namespace weft
