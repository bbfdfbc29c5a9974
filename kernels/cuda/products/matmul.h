// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

#include "kernels/cuda/runtime/stream.h"
#include "kernels/device/products.h"
#include "kernels/dtype.h"

namespace weft::cuda {

// GELU, by the approximation with tanh, as a part of a product.
enum class FusedGelu : uint8_t {
  None,
  Forward,   // c = gelu(.), and what stood before it to `saved`
  Gradient,  // c = . gelu'(saved)
};

// c [m, n] = op(a) [m, k] op(b) [k, n] + bias [n], then GELU, or c += op(a) op(b) if `add`. Row-major, dense.
// Types: input and output both f32 or both bf16, or input bf16 with output f32; sums in f32. bias and saved are of
// the output's type.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32;
  DType output = DType::F32;
  const void* a = nullptr;
  bool transpose_a = false;  // a lies in memory as [k, m]
  const void* b = nullptr;
  bool transpose_b = false;  // b lies in memory as [n, k]
  void* c = nullptr;
  const void* bias = nullptr;
  FusedGelu gelu = FusedGelu::None;
  void* saved = nullptr;  // [m, n], with GELU
  bool add = false;       // without bias and GELU
};

// Whether cuBLASLt saves or reads a matrix of so many columns there.
bool fits_saved(int64_t columns, const void* saved);

// Matrix products by cuBLASLt. Keeps the algorithm of each shape that it has met, with rows counted in steps of 64,
// since the number of rows changes from step to step where texts do. One engine belongs to one stream. To measure takes
// memory for one result and waits for the stream; a shape that has its algorithm does neither.
class MatmulEngine {
 public:
  explicit MatmulEngine(const Stream& stream);
  ~MatmulEngine();
  MatmulEngine(const MatmulEngine&) = delete;
  MatmulEngine& operator=(const MatmulEngine&) = delete;

  void run(const Gemm& gemm);
  std::string library() const;  // "cuBLASLt 13.1.0"

  // As kernels/device/tuning.h says it.
  void set_options(const ProductOptions& options);
  const ProductOptions& options() const;
  std::string tuned() const;
  void take_tuned(const std::string& text, const std::string& from);
  std::string newly_tuned() const;
  int agree_tuned(std::span<const std::string> texts);
  // For the fingerprint: "first", or "measured: " and which algorithms those are until now.
  std::string choices() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::cuda
