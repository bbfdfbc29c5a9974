// SPDX-License-Identifier: Apache-2.0
#include "simulator/libraries/cublaslt/product.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <dnnl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace weft::cuda_device {
namespace {

size_t bytes_of(int32_t type) { return type == CUDA_R_16BF ? 2 : 4; }

float from_bf16(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }
uint16_t to_bf16(float f) {
  if (std::isnan(f)) return 0x7fff;
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to nearest, ties to even
}
float to_tf32(float f) {  // ten bits of mantissa; the device's rounding is not documented: to nearest here
  return std::isfinite(f) ? std::bit_cast<float>((std::bit_cast<uint32_t>(f) + 0x1000u) & ~0x1fffu) : f;
}

void widen(const std::byte* from, int32_t type, size_t count, float* to) {
  if (type == CUDA_R_32F) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    uint16_t h;
    std::memcpy(&h, from + 2 * k, sizeof h);
    to[k] = from_bf16(h);
  }
}
void narrow(const float* from, size_t count, int32_t type, std::byte* to) {
  if (type == CUDA_R_32F) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    const uint16_t h = to_bf16(from[k]);
    std::memcpy(to + 2 * k, &h, sizeof h);
  }
}

// The lines of a matrix in memory: columns of column order, rows of row order.
struct Lines {
  uint64_t address;
  size_t lines, length, stride;  // in elements
  int32_t type;
};
Lines lines_of(const LayoutDescriptor& l, const void* at, int batch) {
  const auto offset = static_cast<uint64_t>(batch * l.batch_stride) * bytes_of(l.type);
  return {reinterpret_cast<uint64_t>(at) + offset, l.lines(), l.length(), static_cast<size_t>(l.stride), l.type};
}

// Reads into floats without gaps. Elements that cannot be read are reported, and stay 0. Gaps are not accessed.
std::vector<float> load(Memory& memory, const Lines& m, const std::string& what) {
  std::vector<float> values(m.lines * m.length);
  const bool whole = m.stride == m.length;
  const size_t pieces = whole ? 1 : m.lines, length = whole ? m.lines * m.length : m.length;
  for (size_t p = 0; p < pieces; ++p)
    if (const std::byte* from =
            memory.read(m.address + p * m.stride * bytes_of(m.type), length * bytes_of(m.type), what))
      widen(from, m.type, length, &values[p * m.length]);
  return values;
}
void store(Memory& memory, const Lines& m, const std::vector<float>& values, const std::string& what) {
  const bool whole = m.stride == m.length;
  const size_t pieces = whole ? 1 : m.lines, length = whole ? m.lines * m.length : m.length;
  for (size_t p = 0; p < pieces; ++p)
    if (std::byte* to = memory.write(m.address + p * m.stride * bytes_of(m.type), length * bytes_of(m.type), what))
      narrow(&values[p * m.length], length, m.type, to);
}

// D may be C, but may not overlap any other matrix that is read.
void check_overlap(const Product& p, Memory& memory, int batch, const std::string& name) {
  const auto span = [](const Lines& m) {
    return std::pair(m.address, m.address + ((m.lines - 1) * m.stride + m.length) * bytes_of(m.type));
  };
  const auto [first, end] = span(lines_of(p.d, p.d_at, batch));
  for (const bool is_a : {true, false}) {
    const auto [from, to] = span(lines_of(is_a ? p.a : p.b, is_a ? p.a_at : p.b_at, batch));
    if (first < to && from < end)
      memory.reports().add(ReportKind::Race, name + ": D is written where " + (is_a ? "A" : "B") + " is read");
  }
}

// oneDNN runs on one thread, so that the order of sums depends only on the shape, not on the waiting host thread.
class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
#endif
};

// An operand for oneDNN: floats in lines, and whether lines are op's rows ('N') or columns ('T').
struct Operand {
  std::vector<float> values;
  char transposed;
  size_t stride;
  size_t step_of_k;  // values from one inner index to the next
};
Operand operand(Memory& memory, const Product& p, bool first, int batch, const std::string& name) {
  const LayoutDescriptor& l = first ? p.a : p.b;
  const bool transposed = (first ? p.how.transpose_a : p.how.transpose_b) != CUBLAS_OP_N;
  const bool lines_are_rows = (l.order == CUBLASLT_ORDER_ROW) != transposed;
  Operand o{load(memory, lines_of(l, first ? p.a_at : p.b_at, batch), name + (first ? ": A" : ": B")),
            lines_are_rows ? 'N' : 'T', l.length(), 0};
  if (p.how.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
    for (float& value : o.values) value = to_tf32(value);
  const bool k_along_lines = lines_are_rows == first;  // A's inner index runs along its rows, B's along its columns
  o.step_of_k = k_along_lines ? 1 : l.length();
  return o;
}

// The order in which an algorithm adds its parts.
std::vector<size_t> order_of_parts(const Product& p) {
  std::vector<size_t> order(static_cast<size_t>(p.algorithm.parts));
  std::iota(order.begin(), order.end(), size_t{0});
  if (p.algorithm.in_place) std::shuffle(order.begin(), order.end(), std::mt19937_64(p.draw));
  return order;
}

// The columns of alpha op(A) op(B), with the inner dimension in the algorithm's parts. oneDNN is row-major: for it they
// are the rows of op(B)^T op(A)^T.
std::vector<float> multiply(const Product& p, const Operand& a, const Operand& b) {
  const size_t m = p.m(), n = p.n(), k = p.k(), parts = static_cast<size_t>(p.algorithm.parts);
  const auto flipped = [](char transposed) { return transposed == 'N' ? 'T' : 'N'; };
  std::vector<float> sum(m * n), partial(parts > 1 ? m * n : 0);
  const OneThread one_thread;
  for (const size_t part : order_of_parts(p)) {
    const size_t first = k * part / parts, end = k * (part + 1) / parts;
    if (first == end) continue;
    dnnl_sgemm(flipped(b.transposed), flipped(a.transposed), static_cast<dnnl_dim_t>(n), static_cast<dnnl_dim_t>(m),
               static_cast<dnnl_dim_t>(end - first), p.alpha, b.values.data() + first * b.step_of_k,
               static_cast<dnnl_dim_t>(b.stride), a.values.data() + first * a.step_of_k,
               static_cast<dnnl_dim_t>(a.stride), 0.f, parts > 1 ? partial.data() : sum.data(),
               static_cast<dnnl_dim_t>(m));
    const auto round = [&](std::vector<float>& values) {
      for (float& value : values) value = from_bf16(to_bf16(value));
    };
    if (p.algorithm.in_type && p.d.type == CUDA_R_16BF) round(partial);
    for (size_t at = 0; at < partial.size(); ++at) sum[at] += partial[at];
    if (p.algorithm.in_place && p.d.type == CUDA_R_16BF) round(sum);
  }
  return sum;
}

// GELU in its tanh form, as in cuBLASLt, and its derivative.
constexpr float kRootTwoByPi = 0.7978845608f, kCubic = 0.044715f;
float gelu(float x) { return 0.5f * x * (1 + std::tanh(kRootTwoByPi * (x + kCubic * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(kRootTwoByPi * (x + kCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kRootTwoByPi * (1 + 3 * kCubic * x * x);
}

// Sums of op(A)'s rows or op(B)'s columns over the inner dimension.
std::vector<float> sums_over_k(const Operand& o, size_t outer, size_t k) {
  std::vector<float> sums(outer);
  const size_t step = o.step_of_k == 1 ? o.stride : 1;
  for (size_t l = 0; l < k; ++l)
    for (size_t at = 0; at < outer; ++at) sums[at] += o.values[at * step + l * o.step_of_k];
  return sums;
}

// Applies the epilogue to the column-major [m, n] result, and reads and writes the epilogue's other matrices.
void finish(const Product& p, Memory& memory, std::vector<float>& out, const std::string& name) {
  const size_t m = p.m(), n = p.n();
  const uint32_t epilogue = p.how.epilogue;
  const Lines bias{reinterpret_cast<uint64_t>(p.how.bias), 1, m, m, p.d.type};
  const Lines aux{reinterpret_cast<uint64_t>(p.how.aux), n, m, static_cast<size_t>(p.how.aux_stride), p.d.type};
  if (epilogue & 4) {
    const std::vector<float> added = load(memory, bias, name + ": bias");
    for (size_t at = 0; at < m * n; ++at) out[at] += added[at % m];
  }
  if (epilogue & CUBLASLT_EPILOGUE_GELU) {
    if (epilogue & 128) store(memory, aux, out, name + ": auxiliary output");
    std::transform(out.begin(), out.end(), out.begin(), gelu);
  }
  if (epilogue & 64) {
    const std::vector<float> saved = load(memory, aux, name + ": auxiliary input");
    for (size_t at = 0; at < m * n; ++at) out[at] *= gelu_slope(saved[at]);
  }
  if (epilogue & 16) {
    std::vector<float> sums(m);
    for (size_t at = 0; at < m * n; ++at) sums[at % m] += out[at];
    store(memory, bias, sums, name + ": bias gradient");
  }
}

// Transposes lines: rows to columns, or the reverse.
std::vector<float> transposed(const std::vector<float>& values, size_t lines, size_t length) {
  std::vector<float> to(values.size());
  for (size_t line = 0; line < lines; ++line)
    for (size_t at = 0; at < length; ++at) to[at * lines + line] = values[line * length + at];
  return to;
}

void run_one(const Product& p, Memory& memory, int batch, const std::string& name) {
  const size_t m = p.m(), n = p.n(), k = p.k();
  check_overlap(p, memory, batch, name);
  const Operand a = operand(memory, p, true, batch, name), b = operand(memory, p, false, batch, name);
  const auto as_columns = [&](std::vector<float> values, int32_t order) {
    return order == CUBLASLT_ORDER_ROW ? transposed(values, m, n) : values;
  };
  std::vector<float> out = multiply(p, a, b);
  if (p.beta != 0) {
    const std::vector<float> c = as_columns(load(memory, lines_of(p.c, p.c_at, batch), name + ": C"), p.c.order);
    for (size_t at = 0; at < out.size(); ++at) out[at] += p.beta * c[at];
  }
  finish(p, memory, out, name);
  for (const bool first : {true, false}) {
    if (p.how.epilogue != (first ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB)) continue;
    const size_t outer = first ? m : n;
    store(memory, {reinterpret_cast<uint64_t>(p.how.bias), 1, outer, outer, p.d.type},
          sums_over_k(first ? a : b, outer, k), name + ": bias gradient");
  }
  if (p.d.order == CUBLASLT_ORDER_ROW) out = transposed(out, n, m);
  store(memory, lines_of(p.d, p.d_at, batch), out, name + ": D");
}

}  // namespace

void run(const Product& p, Memory& memory) {
  const std::string name = "cublasLtMatmul";
  if (p.algorithm.workspace)
    if (std::byte* scratch =
            memory.write(reinterpret_cast<uint64_t>(p.workspace), p.algorithm.workspace, name + ": workspace"))
      std::memset(scratch, 0xa5, p.algorithm.workspace);
  for (int batch = 0; batch < p.d.batch; ++batch) run_one(p, memory, batch, name);
}

}  // namespace weft::cuda_device
