// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products/matmul.h"

#include <deque>
#include <vector>

#include "base/divide_up.h"
#include "base/log.h"
#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/algorithms.h"
#include "kernels/cuda/products/apart.h"
#include "kernels/cuda/products/fastest.h"
#include "kernels/cuda/products/own_product.h"
#include "kernels/cuda/products/prepared.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

using tuning::kProductCandidates, tuning::kProductRowStep, tuning::kProductWorkspaceBytes;

// Returns the product with its number of rows rounded up: m, and k in the gradient of a weight, which sums over rows.
// The model fixes every other size.
FusedGemm rounded(FusedGemm gemm) {
  const auto up = [](int64_t rows) { return divide_up(rows, kProductRowStep) * kProductRowStep; };
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
          .alignment = {alignment(g.a), alignment(g.b), alignment(g.c), alignment(g.bias), alignment(g.saved)}};
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

  // The library's first choice, or a way without it.
  Choice first(const FusedGemm& gemm) const {
    const std::vector<cublasLtMatmulAlgo_t> found = offered(queue(), gemm, options.tf32, 1);
    if (!found.empty()) return {.algorithm = found.front()};
    return {.way = epilogue_of(gemm) == CUBLASLT_EPILOGUE_DEFAULT ? Way::Own : Way::Apart};
  }

  // Returns nothing if the library offers nothing for these rows, or if there is no memory to measure in. Where GELU is
  // an epilogue, it may be slower than a kernel of its own. A bias never is: that kernel reads and writes the result.
  std::optional<Choice> measure(const FusedGemm& gemm) {
    std::deque<Prepared> ways;  // a vector would move them
    for (const cublasLtMatmulAlgo_t& algorithm : offered(queue(), gemm, options.tf32, kProductCandidates)) {
      Prepared& whole = ways.emplace_back();
      whole.product.emplace(*blas, gemm, options.tf32);
      whole.algorithm = algorithm;
    }
    if (ways.empty()) return std::nullopt;
    if (gemm.gelu != FusedGelu::None) ways.emplace_back().rest = prepare(without_a_part(gemm));
    std::vector<Candidate> candidates;
    for (Prepared& way : ways) candidates.emplace_back([&](const FusedGemm& trial) { return run(way, trial); });
    const std::optional<size_t> best = fastest(stream, gemm, candidates);
    if (!best) return std::nullopt;
    return Choice{.algorithm = ways[*best].algorithm, .way = ways[*best].rest ? Way::Apart : Way::Library};
  }

  // Decides for all numbers of rows of a step. The library's first choice is made for the rounded number, so it does
  // not depend on which number comes first.
  Choice decide(const FusedGemm& gemm) {
    if (options.algorithms == AlgorithmChoice::Measured) {
      if (const auto measured = measure(gemm)) return *measured;
    }
    const Choice choice = first(rounded(gemm));
    if (choice.way != Way::Library) {
      log_info("{} has no algorithm for {} x [{}, {}] in {} with epilogue {}: a kernel of weft's {}",
               blas->version_text(), gemm.m, gemm.k, gemm.n, name(gemm.input), static_cast<int>(epilogue_of(gemm)),
               choice.way == Way::Own ? "computes it" : "does what the epilogue would");
    }
    return choice;
  }

  // Returns what was chosen for this shape with a number of rows near it, if the library takes it for this one too.
  Choice choose(const FusedGemm& gemm, const Product& product) {
    const ProductKey key = key_of(rounded(gemm), options.tf32);
    const Choice* kept = table.find(key);
    if (!kept) kept = &table.keep(key, decide(gemm));
    return kept->way != Way::Library || fits(queue(), kept->algorithm, product) ? *kept : first(gemm);
  }

  // Returns what is known of products like this one, so that the library is asked for each kind of them only once.
  std::shared_ptr<Prepared> prepare(const FusedGemm& gemm) {
    const ProductKey key = key_of(gemm, options.tf32);
    if (std::shared_ptr<Prepared> known = prepared.find(key)) return known;
    auto made = std::make_shared<Prepared>();
    made->product.emplace(*blas, gemm, options.tf32);
    const Choice choice = choose(gemm, *made->product);
    made->algorithm = choice.algorithm;
    if (choice.way != Way::Library) made->product.reset();
    if (choice.way == Way::Apart) made->rest = prepare(without_a_part(gemm));
    prepared.keep(key, made);
    return made;
  }

  cublasStatus_t run(Prepared& how, const FusedGemm& gemm) const {
    if (how.product) {
      how.product->point_to(gemm);
      return queue().run(gemm, *how.product, how.algorithm);
    }
    if (!how.rest) {
      own_product(stream, gemm);
      return CUBLAS_STATUS_SUCCESS;
    }
    run_before(stream, gemm);
    const cublasStatus_t status = run(*how.rest, without_a_part(gemm));
    if (status == CUBLAS_STATUS_SUCCESS) run_after(stream, gemm);
    return status;
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
  s.blas->check(s.run(*s.prepare(gemm), gemm), "a matrix product");
}

}  // namespace weft::cuda
