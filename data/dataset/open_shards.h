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

// The shards of a split, each opened, and checked, when it is first asked for. At most `limit` are kept open: a split
// of thousands would need more descriptors than a process has. Every method may be called from many threads at once.
class OpenShards {
 public:
  static constexpr size_t kLimit = 64;
  explicit OpenShards(std::vector<ShardFile> files, size_t limit = kLimit);

  size_t count() const { return files_.size(); }
  const ShardEntry& entry(size_t i) const { return files_[i].entry; }
  // Open for as long as it is held. DataError if it is missing or damaged.
  std::shared_ptr<const Shard> open(size_t i) const;
  int64_t opened() const;  // files so far, each as often as it was opened

 private:
  std::vector<ShardFile> files_;
  size_t limit_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<size_t, std::shared_ptr<const Shard>>>
      kept_;  // the one that was asked for last is last
  mutable int64_t opened_ = 0;
};

}  // namespace weft
