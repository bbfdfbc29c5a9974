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

// All that a product depends on but its addresses. In an AlgorithmTable one of the sizes, the number of rows, which
// changes with the texts of each step, is rounded up to a multiple of 64.
struct ProductKey {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32, output = DType::F32;
  bool transpose_a = false, transpose_b = false, add = false, tf32 = false;
  int64_t epilogue = 0;  // a cublasLtEpilogue_t
  // Of a, b, c, bias and saved, in bytes. The library looks at the last two as well when it is asked; 256 if there is
  // none.
  std::array<int64_t, 5> alignment = {256, 256, 256, 256, 256};
  auto operator<=>(const ProductKey&) const = default;
};

// Who computes a product.
enum class Way : uint8_t {
  Library,  // cuBLASLt, with its epilogue
  Apart,    // a kernel of weft's for a part of the epilogue (apart.h), and the product without it, as chosen for that
  Own,      // a kernel of weft's (own_product.h); only without an epilogue
};

struct Choice {
  cublasLtMatmulAlgo_t algorithm{};  // of Way::Library
  Way way = Way::Library;
};

// What was chosen for products on one device with one library, and its text for other processes: JSON with a checksum.
// An algorithm is 64 bytes that only the library can read.
class AlgorithmTable {
 public:
  AlgorithmTable(std::string device, std::string library) : device_(std::move(device)), library_(std::move(library)) {}

  const Choice* find(const ProductKey& key) const;  // null: not chosen yet
  const Choice& keep(const ProductKey& key, const Choice& choice);
  size_t size() const { return chosen_.size(); }

  // The text that take() reads; "" while the table is empty. It is made once for each change.
  const std::string& text() const;
  std::string digest() const;  // "12 products, 0123456789abcdef": their number and a hash of the table
  // The text of what was kept since the last agree() alone; "" if nothing was.
  std::string new_text() const;
  // Adds the products of another table's text() that this table lacks. Returns "", or why it takes nothing: the text is
  // of another device or library. Throws a DataError that begins with `from` if `text` is not the text of a table, and
  // leaves this table as it was. The library checks the 64 bytes of an algorithm before they are used.
  std::string take(const std::string& text, const std::string& from);
  // Replaces what was kept since the last call by the new_text() of several tables; the first that has a product
  // decides. Returns how many of the texts are of another device or library, which it leaves out.
  int agree(std::span<const std::string> texts);

 private:
  const std::string device_, library_;
  std::map<ProductKey, Choice> chosen_;
  std::set<ProductKey> new_;  // the keys of chosen_ that were kept since the last agree()
  mutable std::string text_;  // the text of chosen_; "": not made yet
};

}  // namespace weft::cuda
