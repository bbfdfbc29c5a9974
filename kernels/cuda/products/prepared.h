// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// How a product is computed, with all of it said that is not an address: one of `product` and `rest`, or neither.
struct Prepared {
  std::optional<Product> product;  // Way::Library
  cublasLtMatmulAlgo_t algorithm{};
  std::shared_ptr<Prepared> rest;  // Way::Apart: the product without a part of its epilogue
};

// Prepared products by their exact sizes, at most `most` of them: the one that was used least recently makes room.
class PreparedProducts {
 public:
  explicit PreparedProducts(size_t most) : most_(most) {}
  std::shared_ptr<Prepared> find(const ProductKey& key);  // null: there is none
  void keep(const ProductKey& key, std::shared_ptr<Prepared> prepared);
  void clear();

 private:
  using Recent = std::list<std::pair<ProductKey, std::shared_ptr<Prepared>>>;
  size_t most_;
  Recent recent_;  // most recently used first
  std::map<ProductKey, Recent::iterator> at_;
};

}  // namespace weft::cuda
