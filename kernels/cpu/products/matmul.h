// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "kernels/backend/gemm.h"

namespace weft::cpu {

// Matrix products: oneDNN for f32 and bf16, plain loops for f64. An engine keeps the primitives it has built and their
// memory. One thread at a time uses an engine; several engines may work at once.
class MatmulEngine {
 public:
  explicit MatmulEngine(int threads);
  ~MatmulEngine();
  MatmulEngine(const MatmulEngine&) = delete;
  MatmulEngine& operator=(const MatmulEngine&) = delete;

  void run(const Gemm& gemm);

  // Computes bf16 products in f32: each input is widened and the f32 product rounded. An engine does so by default if
  // oneDNN has no bf16 product for this processor.
  void emulate_bf16(bool on);
  bool emulates_bf16() const;

  // Keeps primitives of at most `shapes` shapes; the least recently used primitive makes room.
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
