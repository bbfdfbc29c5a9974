#include "kernels/cuda/matmul.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "kernels/cuda/blas_library.h"
#include "kernels/cuda/errors.h"

namespace weft::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA's manual recommends for sm_90
constexpr int64_t kRowStep = 64;

cudaDataType_t type_of(DType dtype) { return dtype == DType::F32 ? CUDA_R_32F : CUDA_R_16BF; }

cublasLtEpilogue_t epilogue_of(const Gemm& gemm) {
  switch (gemm.gelu) {
    case FusedGelu::Forward:
      return gemm.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case FusedGelu::Gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    default:
      return gemm.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// What cuBLASLt makes and must be given back to it.
template <class Handle, class Destroy>
class Owned {
 public:
  Owned(Handle handle, Destroy destroy) : handle_(handle), destroy_(destroy) {}
  ~Owned() { destroy_(handle_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_;
  Destroy destroy_;
};
using Description = Owned<cublasLtMatmulDesc_t, decltype(&cublasLtMatmulDescDestroy)>;
using Layout = Owned<cublasLtMatrixLayout_t, decltype(&cublasLtMatrixLayoutDestroy)>;
using Preference = Owned<cublasLtMatmulPreference_t, decltype(&cublasLtMatmulPreferenceDestroy)>;

// cuBLASLt speaks of matrices whose columns are dense: a row-major [rows, columns] is one of theirs transposed,
// [columns, rows]. So it is given c^T = op(b)^T op(a)^T, with b first.
class Problem {
 public:
  Problem(const BlasLibrary& blas, const Gemm& g)
      : blas_(blas),
        description_(describe(g), blas.destroy_description),
        first_(layout(g.input, g.transpose_b ? g.k : g.n, g.transpose_b ? g.n : g.k), blas.destroy_layout),
        second_(layout(g.input, g.transpose_a ? g.m : g.k, g.transpose_a ? g.k : g.m), blas.destroy_layout),
        result_(layout(g.output, g.n, g.m), blas.destroy_layout) {}

  cublasLtMatmulDesc_t description() const { return description_.get(); }
  cublasLtMatrixLayout_t first() const { return first_.get(); }
  cublasLtMatrixLayout_t second() const { return second_.get(); }
  cublasLtMatrixLayout_t result() const { return result_.get(); }

 private:
  template <class T>
  void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    blas_.check(blas_.set_description(description, attribute, &value, sizeof value), "describing a product");
  }
  cublasLtMatmulDesc_t describe(const Gemm& g) const {
    cublasLtMatmulDesc_t made = nullptr;
    blas_.check(blas_.create_description(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "making a description");
    set(made, CUBLASLT_MATMUL_DESC_TRANSA, g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(made, CUBLASLT_MATMUL_DESC_TRANSB, g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(g));
    if (g.bias) set(made, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);
    if (g.saved) {
      set(made, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, g.saved);
      set(made, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, g.n);
    }
    return made;
  }
  cublasLtMatrixLayout_t layout(DType dtype, int64_t rows, int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    blas_.check(
        blas_.create_layout(&made, type_of(dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
        "making a layout");
    return made;
  }

  const BlasLibrary& blas_;
  Description description_;
  Layout first_, second_, result_;
};

// The largest power of two that divides an address, up to what matters.
uint32_t alignment(const void* p) {
  constexpr uintptr_t kMost = 256;
  const auto address = reinterpret_cast<uintptr_t>(p) | kMost;
  return static_cast<uint32_t>(address & (~address + 1));
}

// What an algorithm depends on. Rows vary; everything else is the model's.
auto key_of(const Gemm& g) {
  const auto stepped = [](int64_t rows) { return (rows + kRowStep - 1) / kRowStep; };
  // The sum of a weight's gradient runs over rows: there k is what varies.
  return std::tuple(stepped(g.m), g.n, g.transpose_a ? stepped(g.k) : g.k, g.input, g.output, g.transpose_a,
                    g.transpose_b, epilogue_of(g), g.add, alignment(g.a), alignment(g.b), alignment(g.c));
}

}  // namespace

bool fits_saved(int64_t columns, const void* saved) { return columns % 8 == 0 && alignment(saved) >= 16; }

struct MatmulEngine::State {
  using Key = decltype(key_of(Gemm{}));

  explicit State(const Stream& on) : stream(on), blas(BlasLibrary::open()) {
    select_device(stream.device());
    blas->check(blas->create(&handle), "opening a device");
    check(cudaMalloc(&workspace, kWorkspaceBytes), "allocating the workspace of matrix products");
  }
  ~State() {
    check_quietly(cudaFree(workspace), "freeing the workspace of matrix products");
    blas->destroy(handle);
  }

  cublasLtMatmulAlgo_t ask(const Gemm& gemm, const Problem& problem) const {
    cublasLtMatmulPreference_t made = nullptr;
    blas->check(blas->create_preference(&made), "making a preference");
    const Preference preference(made, blas->destroy_preference);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      blas->check(blas->set_preference(made, attribute, &value, sizeof value), "preferring an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.c));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        blas->heuristic(handle, problem.description(), problem.first(), problem.second(), problem.result(),
                        problem.result(), preference.get(), 1, &found, &count);
    if (status == CUBLAS_STATUS_SUCCESS && count > 0) return found.algo;
    throw DeviceError(fmt::format("cuBLASLt has no algorithm for [{}, {}] x [{}, {}], {} to {}: {}", gemm.m, gemm.k,
                                  gemm.k, gemm.n, name(gemm.input), name(gemm.output), blas->status_string(status)));
  }

  // The algorithm kept for this shape with a number of rows near it, if it takes this one too.
  cublasLtMatmulAlgo_t choose(const Gemm& gemm, const Problem& problem) {
    if (const auto kept = algorithms.find(key_of(gemm)); kept != algorithms.end()) {
      cublasLtMatmulHeuristicResult_t fits{};
      const cublasStatus_t status =
          blas->check_algorithm(handle, problem.description(), problem.first(), problem.second(), problem.result(),
                                problem.result(), &kept->second, &fits);
      if (status == CUBLAS_STATUS_SUCCESS && fits.workspaceSize <= kWorkspaceBytes) return kept->second;
      return ask(gemm, problem);
    }
    return algorithms.emplace(key_of(gemm), ask(gemm, problem)).first->second;
  }

  const Stream& stream;
  std::shared_ptr<const BlasLibrary> blas;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<Key, cublasLtMatmulAlgo_t> algorithms;
};

MatmulEngine::MatmulEngine(const Stream& stream) : state_(std::make_unique<State>(stream)) {}
MatmulEngine::~MatmulEngine() = default;

std::string MatmulEngine::library() const { return state_->blas->version_text(); }

void MatmulEngine::run(const Gemm& gemm) {
  State& s = *state_;
  select_device(s.stream.device());
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k == 0) {  // a sum over nothing, which cuBLASLt refuses
    const size_t bytes = static_cast<size_t>(gemm.m * gemm.n) * size_of(gemm.output);
    if (!gemm.add) check(cudaMemsetAsync(gemm.c, 0, bytes, s.stream.get()), "a product over nothing");
    return;
  }
  const Problem problem(*s.blas, gemm);
  const cublasLtMatmulAlgo_t algorithm = s.choose(gemm, problem);
  const float one = 1, beta = gemm.add ? 1 : 0;
  s.blas->check(s.blas->matmul(s.handle, problem.description(), &one, gemm.b, problem.first(), gemm.a, problem.second(),
                               &beta, gemm.c, problem.result(), gemm.c, problem.result(), &algorithm, s.workspace,
                               kWorkspaceBytes, s.stream.get()),
                "a matrix product");
}

}  // namespace weft::cuda
