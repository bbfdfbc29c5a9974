// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

#include "kernels/backend/gemm.h"
#include "kernels/cuda/runtime/stream.h"
#include "kernels/device/products.h"

namespace weft::cuda {

// GELU, by the approximation with tanh, as a part of a product.
enum class FusedGelu : uint8_t {
  None,
  Forward,   // c = gelu(product); the product itself goes to `saved`
  Gradient,  // c = product gelu'(saved)
};

// A product and what cuBLASLt's epilogue makes of it, without `add`.
struct FusedGemm : Gemm {
  FusedGelu gelu = FusedGelu::None;
  void* saved = nullptr;  // [m, n] of the output's type, with GELU
};

// Whether an epilogue can write and read `saved` with so many columns at that address.
bool fits_saved(int64_t columns, const void* saved);

// Matrix products by cuBLASLt. It keeps the algorithm of each shape that it has met, with rows counted in steps of 64,
// since texts of other lengths have other numbers of rows. One engine belongs to one stream. Measuring takes memory for
// one result and waits for the stream; a shape that has its algorithm does neither.
class MatmulEngine {
 public:
  explicit MatmulEngine(const Stream& stream);
  ~MatmulEngine();
  MatmulEngine(const MatmulEngine&) = delete;
  MatmulEngine& operator=(const MatmulEngine&) = delete;

  void run(const FusedGemm& gemm);
  std::string library() const;  // "cuBLASLt 13.1.0"

  // These do what kernels/device/tuning.h describes.
  void set_options(const ProductOptions& options);
  const ProductOptions& options() const;
  std::string tuned() const;
  void take_tuned(const std::string& text, const std::string& from);
  std::string newly_tuned() const;
  int agree_tuned(std::span<const std::string> texts);
  // For the fingerprint: "first", or "measured: " and the algorithms known so far.
  std::string choices() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::cuda
