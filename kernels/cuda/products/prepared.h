// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <list>
#include <map>
#include <memory>

#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// A product that cuBLASLt has been told of and that has its algorithm. Only addresses are left to be said.
struct Prepared {
  Prepared(const BlasLibrary& blas, const FusedGemm& gemm, bool tf32) : product(blas, gemm, tf32) {}
  Product product;
  cublasLtMatmulAlgo_t algorithm{};
};

// All that a prepared product depends on. The sizes of `product` are exact; that of an AlgorithmTable are not.
struct PreparedKey {
  ProductKey product;
  std::array<int64_t, 2> alignment = {};  // of bias and saved, in bytes
  auto operator<=>(const PreparedKey&) const = default;
};

// Prepared products, at most `most` of them: the one that was used least recently makes room.
class PreparedProducts {
 public:
  explicit PreparedProducts(size_t most) : most_(most) {}
  std::shared_ptr<Prepared> find(const PreparedKey& key);  // null: there is none
  void keep(const PreparedKey& key, std::shared_ptr<Prepared> prepared);
  void clear();

 private:
  using Recent = std::list<std::pair<PreparedKey, std::shared_ptr<Prepared>>>;
  size_t most_;
  Recent recent_;  // most recently used first
  std::map<PreparedKey, Recent::iterator> at_;
};

}  // namespace weft::cuda
