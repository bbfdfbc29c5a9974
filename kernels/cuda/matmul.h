#pragma once
#include <memory>
#include <string>

#include "kernels/cuda/stream.h"
#include "kernels/dtype.h"

namespace weft::cuda {

// What a product does with its sums before it writes them; GELU is the approximation with tanh.
enum class Epilogue : uint8_t {
  None,
  Bias,           // + bias
  GeluBias,       // gelu(. + bias)
  GeluSaved,      // gelu(.), and what stood before it to `saved`
  GeluBiasSaved,  // gelu(. + bias), and what stood before it to `saved`
  GeluGradient,   // . gelu'(saved)
};

// c [m, n] = epilogue(op(a) [m, k] op(b) [k, n]), or c += op(a) op(b) if `add`. Row-major, dense.
// Types: input and output both f32 or both bf16, or input bf16 with output f32; sums in f32, without TF32. bias and
// saved are of the output's type.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32;
  DType output = DType::F32;
  const void* a = nullptr;
  bool transpose_a = false;  // a lies in memory as [k, m]
  const void* b = nullptr;
  bool transpose_b = false;  // b lies in memory as [n, k]
  void* c = nullptr;
  Epilogue epilogue = Epilogue::None;
  const void* bias = nullptr;  // [n]
  void* saved = nullptr;       // [m, n]
  bool add = false;            // with Epilogue::None
};

// Whether cuBLASLt takes these addresses and columns in the epilogues that save or read a matrix.
bool fits_saved(int64_t columns, const void* saved);

// Matrix products by cuBLASLt. Keeps the algorithm of each shape that it has met, with rows counted in steps of 64,
// since the number of rows changes from step to step where texts do. One engine belongs to one stream.
class MatmulEngine {
 public:
  explicit MatmulEngine(const Stream& stream);
  ~MatmulEngine();
  MatmulEngine(const MatmulEngine&) = delete;
  MatmulEngine& operator=(const MatmulEngine&) = delete;

  void run(const Gemm& gemm);
  std::string library() const;  // "cuBLASLt 13.1.0"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::cuda
