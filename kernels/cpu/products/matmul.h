// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/dtype.h"

namespace weft::cpu {

// c [m, n] = op(a) [m, k] op(b) [k, n] + bias [n], or c += op(a) op(b) if `add`. Row-major, dense.
// Types: input and output both f32, both bf16 or both f64; or input bf16 with output f32. bias is of the input type.
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
