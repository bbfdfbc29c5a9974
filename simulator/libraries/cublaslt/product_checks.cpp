// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "simulator/libraries/cublaslt/product.h"

namespace weft::cuda_device {
namespace {

size_t bytes_of(int32_t type) { return type == CUDA_R_16BF ? 2 : 4; }

bool multiple(const void* p, size_t of) { return reinterpret_cast<uint64_t>(p) % of == 0; }

bool known_epilogue(uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return true;
    default:
      return false;
  }
}

bool known_compute(int32_t compute) {
  return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
         compute == CUBLAS_COMPUTE_32F_FAST_TF32;
}

// Inputs in bf16 and outputs in bf16 or fp32; or everything in fp32.
bool known_types(const Product& p) {
  if (p.how.scale != CUDA_R_32F || p.a.type != p.b.type || p.c.type != p.d.type) return false;
  if (p.a.type == CUDA_R_32F) return p.d.type == CUDA_R_32F;
  return p.a.type == CUDA_R_16BF && (p.d.type == CUDA_R_16BF || p.d.type == CUDA_R_32F) &&
         p.how.compute != CUBLAS_COMPUTE_32F_FAST_TF32;
}

bool fits(const LayoutDescriptor& l, bool transposed, size_t rows, size_t columns) {
  return (transposed ? l.columns : l.rows) == rows && (transposed ? l.rows : l.columns) == columns;
}

bool sound(const LayoutDescriptor& l) {
  return (l.order == CUBLASLT_ORDER_COL || l.order == CUBLASLT_ORDER_ROW) &&
         l.stride >= static_cast<int64_t>(l.length());
}

bool aligned(const LayoutDescriptor& l, const void* at, uint32_t to) {
  return multiple(at, to) && static_cast<size_t>(l.stride) * bytes_of(l.type) % to == 0;
}

}  // namespace

cublasStatus_t check_descriptors(const Product& p) {
  if (p.how.pointer_mode != CUBLASLT_POINTER_MODE_HOST) refuse("cublasLtMatmul: alpha on the device is not simulated");
  if (!known_epilogue(p.how.epilogue) || !known_compute(p.how.compute) || !known_types(p))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (p.m() == 0 || p.n() == 0 || p.k() == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const LayoutDescriptor* l : {&p.a, &p.b, &p.c, &p.d})
    if (!sound(*l) || l->batch != p.d.batch) return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits(p.a, p.how.transpose_a != CUBLAS_OP_N, p.m(), p.k()) ||
      !fits(p.b, p.how.transpose_b != CUBLAS_OP_N, p.k(), p.n()) || !fits(p.c, false, p.m(), p.n()))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool plain = p.how.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!plain && (p.d.order != CUBLASLT_ORDER_COL || p.d.batch > 1)) return CUBLAS_STATUS_NOT_SUPPORTED;
  // Manual: the saved input of GELU has a leading dimension that is a multiple of 8, and at least D's rows.
  const bool saved = p.how.epilogue & 128;
  if (saved && (p.how.aux_stride % 8 != 0 || p.how.aux_stride < static_cast<int64_t>(p.m())))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (saved && p.how.aux_type != -1 && p.how.aux_type != p.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!plain && p.how.bias_type != -1 && p.how.bias_type != p.d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

uint32_t alignment_of(const void* at) {
  const auto address = reinterpret_cast<uint64_t>(at) | 256;
  return static_cast<uint32_t>(address & -address);
}

void check_promises(const Product& p, Memory& memory) {
  const std::array<std::pair<const char*, const void*>, 6> all{{{"A", p.a_at},
                                                                {"B", p.b_at},
                                                                {"C", p.beta == 0 ? nullptr : p.c_at},
                                                                {"D", p.d_at},
                                                                {"the bias", p.how.bias},
                                                                {"the auxiliary matrix", p.how.aux}}};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [what, at] = all[i];
    const uint32_t promised = p.algorithm.promised[i], is = alignment_of(at);
    if (is < promised)
      memory.reports().add(ReportKind::Runtime, std::string("cublasLtMatmul: ") + what + " lies at a multiple of " +
                                                    std::to_string(is) + " bytes, and its algorithm was chosen for " +
                                                    std::to_string(promised));
  }
}

cublasStatus_t check_addresses(const Product& p) {
  if (!p.a_at || !p.b_at || !p.d_at || (p.beta != 0 && !p.c_at)) return CUBLAS_STATUS_INVALID_VALUE;
  const uint32_t to = p.algorithm.alignment;
  if (!aligned(p.a, p.a_at, to) || !aligned(p.b, p.b_at, to) || !aligned(p.d, p.d_at, to) ||
      (p.beta != 0 && !aligned(p.c, p.c_at, to)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (p.c_at == p.d_at && p.beta != 0 && (p.c.stride != p.d.stride || p.c.order != p.d.order))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool with_bias = p.how.epilogue & (4 | 16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
  if (with_bias && (!p.how.bias || !multiple(p.how.bias, bytes_of(p.d.type)))) return CUBLAS_STATUS_INVALID_VALUE;
  if ((p.how.epilogue & 128) && (!p.how.aux || !multiple(p.how.aux, 16))) return CUBLAS_STATUS_INVALID_VALUE;
  // Manual: the address of a workspace is a multiple of 256 bytes.
  if (p.algorithm.workspace && (!p.workspace || !multiple(p.workspace, 256))) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace weft::cuda_device
