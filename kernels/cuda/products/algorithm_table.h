// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "kernels/dtype.h"

namespace weft::cuda {

// What the choice of an algorithm depends on. Of the sizes one is a number of rows, which changes from step to step
// where texts do: it is rounded up to a multiple of 64.
struct ProductKey {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32, output = DType::F32;
  bool transpose_a = false, transpose_b = false, add = false, tf32 = false;
  int64_t epilogue = 0;                   // a cublasLtEpilogue_t
  std::array<int64_t, 3> alignment = {};  // bytes; of a, b and c
  auto operator<=>(const ProductKey&) const = default;
};

// The algorithms that were chosen for products on one device with one library, and the text in which other processes
// find them: JSON with a checksum. An algorithm is 64 bytes that mean something to the library alone.
class AlgorithmTable {
 public:
  AlgorithmTable(std::string device, std::string library) : device_(std::move(device)), library_(std::move(library)) {}

  const cublasLtMatmulAlgo_t* find(const ProductKey& key) const;  // null: none yet
  const cublasLtMatmulAlgo_t& keep(const ProductKey& key, const cublasLtMatmulAlgo_t& algorithm);
  size_t size() const { return chosen_.size(); }

  const std::string& text() const;  // of take(); "" while the table is empty. It is made once for each change
  std::string digest() const;       // of its contents: "12 products, 0123456789abcdef"
  std::string new_text() const;     // of what was kept since the last agree() alone; "" if nothing was
  // Adds what text() of another table says, where this one says nothing. "", or why nothing is taken: that it was
  // measured on another device or with another library. DataError that begins with `from` if it is no such text; the
  // table is then as it was. What the 64 bytes of an algorithm say is for the library to check before they are used.
  std::string take(const std::string& text, const std::string& from);
  // Replaces what was kept since the last call by what several tables have kept since then: their new_text(), of which
  // the first that has a product decides. Says how many of them are of another device or library, and left.
  int agree(std::span<const std::string> texts);

 private:
  const std::string device_, library_;
  std::map<ProductKey, cublasLtMatmulAlgo_t> chosen_;
  std::set<ProductKey> new_;  // of chosen_: kept since the last agree()
  mutable std::string text_;  // of chosen_; "": not made yet
};

}  // namespace weft::cuda
