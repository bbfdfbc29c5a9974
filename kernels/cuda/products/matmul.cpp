// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/matmul.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/fastest.h"
#include "kernels/cuda/products/prepared.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

using tuning::kProductCandidates, tuning::kProductRowStep, tuning::kProductWorkspaceBytes;

// The largest power of two that divides an address, up to 256, beyond which it does not matter.
uint32_t alignment(const void* p) {
  constexpr uintptr_t kMost = 256;
  const auto address = reinterpret_cast<uintptr_t>(p) | kMost;
  return static_cast<uint32_t>(address & (~address + 1));
}

// Returns the product with its number of rows rounded up: m, and k in the gradient of a weight, which sums over rows.
// The model fixes every other size.
FusedGemm rounded(FusedGemm gemm) {
  const auto up = [](int64_t rows) { return (rows + kProductRowStep - 1) / kProductRowStep * kProductRowStep; };
  gemm.m = up(gemm.m);
  if (gemm.transpose_a) gemm.k = up(gemm.k);
  return gemm;
}

ProductKey key_of(const FusedGemm& g, bool tf32) {
  return {.m = g.m,
          .n = g.n,
          .k = g.k,
          .input = g.input,
          .output = g.output,
          .transpose_a = g.transpose_a,
          .transpose_b = g.transpose_b,
          .add = g.add,
          .tf32 = tf32 && g.input == DType::F32,
          .epilogue = epilogue_of(g),
          .alignment = {alignment(g.a), alignment(g.b), alignment(g.c)}};
}

}  // namespace

bool fits_saved(int64_t columns, const void* saved) { return columns % 8 == 0 && alignment(saved) >= 16; }

struct MatmulEngine::State {
  explicit State(const Stream& on)
      : stream(on), blas(BlasLibrary::open()), table(device_name(on.device()), blas->version_text()) {
    select_device(stream.device());
    blas->check(blas->create(&handle), "opening a device");
    check(cudaMalloc(&workspace, kProductWorkspaceBytes), "allocating the workspace of matrix products");
  }
  ~State() {
    check_quietly(cudaFree(workspace), "freeing the workspace of matrix products");
    blas->destroy(handle);
  }
  ProductQueue queue() const { return {stream, *blas, handle, workspace}; }

  // Asks the library for up to `most` algorithms; the library puts first the one that it expects to be the fastest.
  std::vector<cublasLtMatmulAlgo_t> ask(const FusedGemm& gemm, int most) const {
    cublasLtMatmulPreference_t made = nullptr;
    blas->check(blas->create_preference(&made), "making a preference");
    const Owned preference(made, blas->destroy_preference);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      blas->check(blas->set_preference(made, attribute, &value, sizeof value), "preferring an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kProductWorkspaceBytes);
    // An algorithm that divides the inner dimension keeps its parts' sums in fp32 and adds them in one order. Unasked,
    // it may also add them into the result as they come, or keep them in the result's type.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.c));
    const Product product(*blas, gemm, options.tf32);
    std::array<cublasLtMatmulHeuristicResult_t, kProductCandidates> found{};
    int count = 0;
    const cublasStatus_t status =
        blas->heuristic(handle, product.description(), product.first(), product.second(), product.result(),
                        product.result(), preference.get(), most, found.data(), &count);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < count; ++i) {
      if (found[static_cast<size_t>(i)].state == CUBLAS_STATUS_SUCCESS) {
        algorithms.push_back(found[static_cast<size_t>(i)].algo);
      }
    }
    if (status == CUBLAS_STATUS_SUCCESS && !algorithms.empty()) return algorithms;
    throw DeviceError(fmt::format("cuBLASLt has no algorithm for [{}, {}] x [{}, {}], {} to {}: {}", gemm.m, gemm.k,
                                  gemm.k, gemm.n, name(gemm.input), name(gemm.output), blas->status_string(status)));
  }
  cublasLtMatmulAlgo_t first(const FusedGemm& gemm) const { return ask(gemm, 1).front(); }

  bool fits(const cublasLtMatmulAlgo_t& algorithm, const Product& product) const {
    cublasLtMatmulHeuristicResult_t needs{};
    const cublasStatus_t status =
        blas->check_algorithm(handle, product.description(), product.first(), product.second(), product.result(),
                              product.result(), &algorithm, &needs);
    return status == CUBLAS_STATUS_SUCCESS && needs.workspaceSize <= kProductWorkspaceBytes;
  }

  // Decides for all numbers of rows of a step. The library's first choice is made for the rounded number, so it does
  // not depend on which number comes first. That choice is also taken, and kept, if there is no memory to measure in.
  cublasLtMatmulAlgo_t decide(const FusedGemm& gemm) const {
    if (options.algorithms == AlgorithmChoice::First) return first(rounded(gemm));
    if (const auto measured = fastest(queue(), gemm, options.tf32, ask(gemm, kProductCandidates))) return *measured;
    return first(rounded(gemm));
  }

  // Returns the algorithm kept for this shape with a number of rows near it, if it fits this one too.
  cublasLtMatmulAlgo_t choose(const FusedGemm& gemm, const Product& product) {
    const ProductKey key = key_of(rounded(gemm), options.tf32);
    const cublasLtMatmulAlgo_t* kept = table.find(key);
    if (!kept) kept = &table.keep(key, decide(gemm));
    return fits(*kept, product) ? *kept : first(gemm);
  }

  // Returns what is known of products like this one, so that the library is asked for each kind of them only once.
  std::shared_ptr<Prepared> prepare(const FusedGemm& gemm) {
    const PreparedKey key{key_of(gemm, options.tf32), {alignment(gemm.bias), alignment(gemm.saved)}};
    if (std::shared_ptr<Prepared> known = prepared.find(key)) return known;
    auto made = std::make_shared<Prepared>(*blas, gemm, options.tf32);
    made->algorithm = choose(gemm, made->product);
    prepared.keep(key, made);
    return made;
  }

  void run(const FusedGemm& gemm) {
    const std::shared_ptr<Prepared> it = prepare(gemm);
    it->product.point_to(gemm);
    blas->check(queue().run(gemm, it->product, it->algorithm), "a matrix product");
  }

  // Algorithms that were replaced may still stand in prepared products.
  int agree(std::span<const std::string> texts) {
    prepared.clear();
    return table.agree(texts);
  }

  const Stream& stream;
  std::shared_ptr<const BlasLibrary> blas;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  ProductOptions options;
  AlgorithmTable table;
  PreparedProducts prepared{tuning::kMostPreparedProducts};
};

MatmulEngine::MatmulEngine(const Stream& stream) : state_(std::make_unique<State>(stream)) {}
MatmulEngine::~MatmulEngine() = default;

std::string MatmulEngine::library() const { return state_->blas->version_text(); }

void MatmulEngine::set_options(const ProductOptions& options) { state_->options = options; }
const ProductOptions& MatmulEngine::options() const { return state_->options; }

std::string MatmulEngine::tuned() const {
  return state_->options.algorithms == AlgorithmChoice::Measured ? state_->table.text() : std::string();
}

void MatmulEngine::take_tuned(const std::string& text, const std::string& from) {
  if (const std::string why_not = state_->table.take(text, from); !why_not.empty()) {
    log_info("{}: algorithms of matrix products are measured again: {}", from, why_not);
  }
}

std::string MatmulEngine::newly_tuned() const {
  return state_->options.algorithms == AlgorithmChoice::Measured ? state_->table.new_text() : std::string();
}

int MatmulEngine::agree_tuned(std::span<const std::string> texts) { return state_->agree(texts); }

std::string MatmulEngine::choices() const {
  if (state_->options.algorithms == AlgorithmChoice::First) return "first";
  return "measured: " + state_->table.digest();
}

void MatmulEngine::run(const FusedGemm& gemm) {
  State& s = *state_;
  select_device(s.stream.device());
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k == 0) {  // a sum over nothing, which cuBLASLt refuses
    const size_t bytes = static_cast<size_t>(gemm.m * gemm.n) * size_of(gemm.output);
    if (!gemm.add) check(cudaMemsetAsync(gemm.c, 0, bytes, s.stream.get()), "a product over nothing");
    return;
  }
  s.run(gemm);
}

}  // namespace weft::cuda
