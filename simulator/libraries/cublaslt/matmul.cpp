// SPDX-License-Identifier: Apache-2.0
// The handle, the algorithms for a product, and the product itself.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "simulator/libraries/cublaslt/product.h"
#include "simulator/libraries/cublaslt/refusals.h"

using namespace weft::cuda_device;

namespace {

constexpr int kAlgorithms = 6, kInPlace = 4, kInType = 5;
constexpr uint32_t kVectorBytes = 16;

// Algorithm `id` of a product: 0 takes any product, the others need aligned matrices and write partial sums. The last
// two add them in place, and keep them in the result's type.
Algorithm algorithm(int32_t id, const Product& p) {
  if (id == 0) return {};
  if (id == kInPlace) return {.id = id, .parts = 3, .alignment = kVectorBytes, .in_place = true};
  const int parts = id == kInType ? 3 : id + 1;
  const uint64_t partial_sums = static_cast<uint64_t>(parts) * p.m() * p.n() * sizeof(float);
  return {.id = id,
          .parts = parts,
          .alignment = kVectorBytes,
          .workspace = (partial_sums + 255) / 256 * 256,
          .in_type = id == kInType};
}

// WEFT_CUDA_DEVICE_TIMES: another number makes other algorithms the fastest, as on a device, where no two
// measurements are the same; "device": each device has its own number. Read at each call, so that a test can change
// it.
uint64_t times(int device) {
  const char* text = std::getenv("WEFT_CUDA_DEVICE_TIMES");
  if (!text) return 0;
  if (std::strcmp(text, "device") == 0) return static_cast<uint64_t>(device);
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  if (end == text || *end)
    refuse("WEFT_CUDA_DEVICE_TIMES is '" + std::string(text) + "', and a whole number or 'device' is needed");
  return number;
}

// The simulated time of a product: it is invented, the same for every schedule, and other shapes have other best
// algorithms. Adding in place is the fastest, as it is on a device where few tiles share a long sum; smaller partial
// sums are the next. GELU and its gradient are slow for every other shape.
double microseconds(const Product& p, int device) {
  const double work = 2e-6 * static_cast<double>(p.m()) * static_cast<double>(p.n()) * static_cast<double>(p.k());
  const uint64_t place = p.m() * 7 + p.n() * 13 + p.k() * 3 + times(device) + static_cast<uint64_t>(p.algorithm.id);
  if (p.algorithm.in_place) return 1;
  if (p.algorithm.in_type) return 2;
  const bool slow = p.how.epilogue & (CUBLASLT_EPILOGUE_GELU | 64) && ((p.m() + p.k()) / 8 + times(device)) % 2 == 0;
  return 5 + (slow ? 8 : 0) + work * (1 + 0.1 * static_cast<double>(place % kInPlace));
}

bool takes(const Algorithm& a, const LayoutDescriptor& l, uint32_t alignment) {
  const uint64_t line = static_cast<uint64_t>(l.stride) * (l.type == CUDA_R_16BF ? 2 : 4);
  return alignment >= a.alignment && line % a.alignment == 0;
}

Product product_of(cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  return {.how = of(how), .a = of(a), .b = of(b), .c = of(c), .d = of(d)};
}

// How an algorithm adds the sums of its parts.
uint32_t scheme_of(const Algorithm& a) {
  if (a.parts == 1) return CUBLASLT_REDUCTION_SCHEME_NONE;
  if (a.in_place) return CUBLASLT_REDUCTION_SCHEME_INPLACE;
  return a.in_type ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

// What the program says of addresses when it asks: it prefers the alignment of four, and describes the others.
std::array<uint32_t, 6> promises(const Product& p, const PreferenceDescriptor& preference) {
  const auto& [a, b, c, d] = preference.alignment;
  return {a, b, c, d, alignment_of(p.how.bias), alignment_of(p.how.aux)};
}

// The algorithms that fit the workspace and the alignment, in the order of the heuristic, best first.
std::vector<Algorithm> candidates(const Product& p, const PreferenceDescriptor& preference) {
  std::vector<Algorithm> found;
  for (const int32_t id : {kInPlace, kInType, 1, 2, 0, 3}) {
    Algorithm one = algorithm(id, p);
    one.promised = promises(p, preference);
    const uint32_t scheme = scheme_of(one);
    if (scheme != CUBLASLT_REDUCTION_SCHEME_NONE && !(preference.reductions & scheme)) continue;
    if (refuses(p, id)) continue;
    if (one.workspace <= preference.workspace && takes(one, p.a, preference.alignment[0]) &&
        takes(one, p.b, preference.alignment[1]) && takes(one, p.c, preference.alignment[2]) &&
        takes(one, p.d, preference.alignment[3]))
      found.push_back(one);
  }
  return found;
}

// Fields are copied one by one: programs store these bytes, and padding between fields would differ between calls.
cublasLtMatmulAlgo_t packed(const Algorithm& a) {
  cublasLtMatmulAlgo_t out{};
  out.data[0] = static_cast<uint32_t>(a.id) | static_cast<uint64_t>(a.parts) << 32;
  out.data[1] = a.alignment;
  out.data[2] = a.workspace;
  for (size_t i = 0; i < a.promised.size(); ++i) out.data[3] |= uint64_t(std::countr_zero(a.promised[i])) << 8 * i;
  return out;
}
Algorithm unpacked(const cublasLtMatmulAlgo_t& packed) {
  Algorithm a{.id = static_cast<int32_t>(packed.data[0]),
              .parts = static_cast<int32_t>(packed.data[0] >> 32),
              .alignment = static_cast<uint32_t>(packed.data[1]),
              .workspace = packed.data[2]};
  for (size_t i = 0; i < a.promised.size(); ++i) a.promised[i] = 1u << (packed.data[3] >> 8 * i & 0xf);
  return a;
}

// An algorithm chosen for one product may be used for others: its requirements depend on the product.
bool known(int32_t id) { return id >= 0 && id < kAlgorithms; }

cublasStatus_t enqueue(Simulator& all, const Product& p, cudaStream_t stream) {
  Stream* own = all.stream_of(stream);
  if (!own) return CUBLAS_STATUS_INVALID_VALUE;
  const std::string name =
      "cublasLtMatmul " + std::to_string(p.m()) + " x " + std::to_string(p.n()) + " x " + std::to_string(p.k());
  all.enqueue(
      *own, name,
      [p, &all](OpId id) {
        Product drawn = p;
        drawn.draw = all.settings.seed + static_cast<uint64_t>(id);
        run(drawn, all.memory);
      },
      microseconds(p, own->device));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  Simulator& all = simulator();
  if (all.settings.devices == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasLtHandle_t>(&all);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
                                              int wanted, cublasLtMatmulHeuristicResult_t* results, int* found) {
  count(__func__);
  *found = 0;
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const Product p = product_of(how, a, b, c, d);
  if (const cublasStatus_t status = check_descriptors(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const cublasStatus_t status = refusal(p); status != CUBLAS_STATUS_SUCCESS)
    return refuses_silently(p) ? CUBLAS_STATUS_SUCCESS : status;
  for (const Algorithm& one : candidates(p, of(preference))) {
    if (*found == wanted) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.algo = packed(one);
    result.workspaceSize = one.workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t, int wanted, int* ids,
                                        int* found) {
  *found = std::min(wanted, kAlgorithms);
  for (int id = 0; id < *found; ++id) ids[id] = id;
  return CUBLAS_STATUS_SUCCESS;
}
// The workspace depends on the product: cublasLtMatmulAlgoCheck returns it.
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* out) {
  if (!known(id)) return CUBLAS_STATUS_INVALID_VALUE;
  *out = packed({.id = id});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  count(__func__);
  const Product p = product_of(how, a, b, c, d);
  if (const cublasStatus_t status = check_descriptors(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const cublasStatus_t status = refusal(p); status != CUBLAS_STATUS_SUCCESS) return status;
  const Algorithm kept = unpacked(*algo);
  if (!known(kept.id)) return CUBLAS_STATUS_INVALID_VALUE;
  // Of addresses, it sees those that belong to the description.
  if (refuses(p, kept.id) || alignment_of(p.how.bias) < kept.promised[4] || alignment_of(p.how.aux) < kept.promised[5])
    return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm one = algorithm(kept.id, p);
  one.promised = kept.promised;
  for (const LayoutDescriptor* l : {&p.a, &p.b, &p.c, &p.d})
    if (!takes(one, *l, kVectorBytes)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {};
  result->algo = packed(one);
  result->workspaceSize = one.workspace;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* to,
                                                    size_t bytes, size_t* written) {
  const Algorithm a = unpacked(*algo);
  const int32_t value = attribute == CUBLASLT_ALGO_CONFIG_ID           ? a.id
                        : attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM ? a.parts
                                                                       : 0;
  if (written) *written = sizeof value;
  if (bytes == 0) return written ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  if (bytes > sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, &value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  count(__func__);
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  Product p = product_of(how, la, lb, lc, ld);
  p.a_at = a, p.b_at = b, p.c_at = c, p.d_at = d;
  p.alpha = *static_cast<const float*>(alpha);
  p.beta = *static_cast<const float*>(beta);
  p.workspace = workspace;
  if (const cublasStatus_t status = check_descriptors(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const cublasStatus_t status = refusal(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (algo) {
    const Algorithm kept = unpacked(*algo);
    if (!known(kept.id)) return CUBLAS_STATUS_INVALID_VALUE;
    if (refuses(p, kept.id)) return CUBLAS_STATUS_NOT_SUPPORTED;
    p.algorithm = algorithm(kept.id, p);
    p.algorithm.promised = kept.promised;
  } else {
    const PreferenceDescriptor chosen{workspace ? workspace_bytes : 0,
                                      {alignment_of(a), alignment_of(b), alignment_of(c), alignment_of(d)}};
    const std::vector<Algorithm> found = candidates(p, chosen);
    if (found.empty()) return CUBLAS_STATUS_NOT_SUPPORTED;
    p.algorithm = found.front();
  }
  if (p.algorithm.workspace > workspace_bytes) return CUBLAS_STATUS_INVALID_VALUE;
  check_promises(p, all.memory);
  if (const cublasStatus_t status = check_addresses(p); status != CUBLAS_STATUS_SUCCESS) return status;
  if (all.health(this_thread().device) != Status::Success) return CUBLAS_STATUS_EXECUTION_FAILED;
  return enqueue(all, p, stream);
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

}  // extern "C"
