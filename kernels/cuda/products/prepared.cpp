// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/prepared.h"

namespace weft::cuda {

std::shared_ptr<Prepared> PreparedProducts::find(const ProductKey& key) {
  const auto at = at_.find(key);
  if (at == at_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, at->second);
  return at->second->second;
}

void PreparedProducts::keep(const ProductKey& key, std::shared_ptr<Prepared> prepared) {
  recent_.emplace_front(key, std::move(prepared));
  at_[key] = recent_.begin();
  if (recent_.size() <= most_) return;
  at_.erase(recent_.back().first);
  recent_.pop_back();
}

void PreparedProducts::clear() {
  at_.clear();
  recent_.clear();
}

}  // namespace weft::cuda
