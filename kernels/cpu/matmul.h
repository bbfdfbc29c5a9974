#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cpu/workspace.h"
#include "kernels/dtype.h"
#include "kernels/linear.h"

namespace weft::cpu {

// A matrix in oneDNN's own layout, for a matrix that many products with few rows read between two changes of it.
class PackedMatrix : public PackedLayout {
 public:
  const void* data() const { return data_; }

 private:
  friend class MatmulEngine;
  Workspace memory_;
  const void* data_ = nullptr;
};

// c [m, n] = op(a) [m, k] op(b) [k, n] + bias [n], or c += op(a) op(b) if `add`. Row-major, dense.
// Types: input and output both f32, both bf16 or both f64; or input bf16 with output f32. bias is of the input type.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32;
  DType output = DType::F32;
  const void* a = nullptr;
  bool transpose_a = false;  // a lies in memory as [k, m]
  const void* b = nullptr;
  bool transpose_b = false;                // b lies in memory as [n, k]
  const PackedMatrix* packed_b = nullptr;  // b packed, used if m is small
  void* c = nullptr;
  const void* bias = nullptr;
  bool add = false;  // without bias
};

// Matrix products: oneDNN for f32 and bf16, plain loops for f64. Keeps the primitives it has built and the memory they
// work in. One engine belongs to one thread at a time; several may work at once.
class MatmulEngine {
 public:
  explicit MatmulEngine(int threads);
  ~MatmulEngine();
  MatmulEngine(const MatmulEngine&) = delete;
  MatmulEngine& operator=(const MatmulEngine&) = delete;

  void run(const Gemm& gemm);

  // b [k, n], as in a Gemm of `input` dtype; null if there is no such layout (f64, emulated bf16). The engine may go
  // before the packed matrix.
  std::shared_ptr<const PackedMatrix> pack(const void* b, int64_t k, int64_t n, DType input, bool transpose_b);

  // bf16 by way of f32: each input widened, the f32 product rounded. Used by itself if oneDNN has no bf16 product
  // for this processor.
  void emulate_bf16(bool on);
  bool emulates_bf16() const;

  // Primitives of that many shapes are kept, the least recently used one makes room.
  void limit_cache(size_t shapes);
  size_t cached() const;

  // Library, version and instruction set, for the numerics fingerprint: "oneDNN 2.6.3 avx512_core_bf16".
  static std::string library();
  // The thresholds of the choice between primitives: "few rows 64, many rows 2048, much to sum 8192".
  static std::string heuristics();
  // The version whose headers this was compiled with: "2.6.3".
  static std::string compiled_library();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::cpu
