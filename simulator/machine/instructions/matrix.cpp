// SPDX-License-Identifier: Apache-2.0
// mma.sync of bf16 and tf32, and ldmatrix. Products of two bf16 or tf32 are exact in fp32; here they are added one
// after the other in the order of k, in fp32, starting with c. A device has its own order and rounding, which the
// manual leaves open.
#include "simulator/machine/access.h"
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

bool is_whole_warp(Warp& w, const Instruction& i) {
  if (w.exec == kAllLanes) return true;
  report(w, i, w.first_lane(), ReportKind::Barrier,
         "a matrix instruction needs all 32 lanes, lanes " + std::to_string(w.exec) + " are here");
  return false;
}

// The manual's fragments, with group g = lane / 4 and member t = lane % 4: a register of a holds row g (or g + 8), a
// register of b column g; bf16: columns (of b: rows) 2t and 2t + 1 of eight, tf32: column t of four. So one register
// of all lanes in order is a matrix of 8 rows in row-major order.
struct OfBf16 {
  static constexpr int kColumns = 8;  // the columns of such a matrix
  static void read(const Warp& w, const Operand& o, float* to) {
    const auto* from = w.lanes<uint16_t>(o);
    for (int k = 0; k < 8 * kColumns; ++k) to[k] = from_bf16(from[k]);
  }
};
struct OfTf32 {
  static constexpr int kColumns = 4;
  static void read(const Warp& w, const Operand& o, float* to) {
    const auto* from = w.lanes<uint32_t>(o);
    for (int k = 0; k < 8 * kColumns; ++k) to[k] = std::bit_cast<float>(from[k] & ~0x1fffu);
  }
};

// d (4 registers), a, b, c (4 registers): 16 x 8 = 16 x K times K x 8, K in kSteps steps of kColumns each.
template <class Of, int kSteps>
void multiply(Warp& w, const Instruction& i) {
  if (!is_whole_warp(w, i)) return;
  ++w.block->counters->matrix_products;
  constexpr int kColumns = Of::kColumns, kA = 4, kB = kA + 2 * kSteps, kC = kB + kSteps;
  alignas(64) float a[2 * kSteps][8 * kColumns], b[kSteps][8 * kColumns], b_by_k[kSteps * kColumns][8], c[16][8];
  for (int k = 0; k < 2 * kSteps; ++k) Of::read(w, i.operands[size_t(kA + k)], a[k]);
  for (int k = 0; k < kSteps; ++k) Of::read(w, i.operands[size_t(kB + k)], b[k]);
  for (int k = 0; k < kSteps * kColumns; ++k)
    for (int n = 0; n < 8; ++n) b_by_k[k][n] = b[k / kColumns][n * kColumns + k % kColumns];
  for (int q = 0; q < 4; ++q) {  // c: rows g and g + 8, columns 2t and 2t + 1
    const auto* from = w.lanes<float>(i.operands[size_t(kC + q)]);
    for (int l = 0; l < kLanes; ++l) c[l / 4 + q / 2 * 8][l % 4 * 2 + q % 2] = from[l];
  }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < kSteps * kColumns; ++k) {
      const float left = a[k / kColumns * 2 + row / 8][row % 8 * kColumns + k % kColumns];
      for (int n = 0; n < 8; ++n) c[row][n] = __builtin_fmaf(left, b_by_k[k][n], c[row][n]);
    }
  for (int q = 0; q < 4; ++q) {
    auto* to = w.lanes<float>(i.operands[size_t(q)]);
    for (int l = 0; l < kLanes; ++l) to[l] = c[l / 4 + q / 2 * 8][l % 4 * 2 + q % 2];
  }
}

struct Product {
  std::string_view type, shape;
  Execute execute;
  size_t operands;
};
constexpr Product kProducts[] = {{"bf16", "m16n8k16", &multiply<OfBf16, 2>, 14},
                                 {"bf16", "m16n8k8", &multiply<OfBf16, 1>, 11},
                                 {"tf32", "m16n8k8", &multiply<OfTf32, 2>, 14},
                                 {"tf32", "m16n8k4", &multiply<OfTf32, 1>, 11}};

void decode_mma(Statement& s) {
  s.words.take_any({"sync", "aligned"});
  s.instruction.meets = Meets::Warp;
  const std::string_view shape = s.words.take_one({"m16n8k16", "m16n8k8", "m16n8k4"});
  const bool layout = s.words.take("row") && s.words.take("col");
  const bool sums = s.words.take("f32") && s.words.take("f32");
  const std::string_view type = s.words.take_one({"bf16", "tf32"});
  if (!layout || !sums || !s.words.take(type)) return;
  for (const Product& p : kProducts) {
    if (p.type != type || p.shape != shape) continue;
    s.instruction.execute = p.execute;
    s.instruction.results = 4;
    s.least_operands = p.operands;
  }
}

// Lane 8 m + r addresses row r of matrix m, 16 bytes. Lane l gets from each matrix elements 2 (l % 4) and the next
// of row l / 4; transposed, of column l / 4.
template <int kMatrices, bool kTransposed>
void load_matrices(Warp& w, const Instruction& i) {
  if (!is_whole_warp(w, i)) return;
  ++w.block->counters->matrix_loads;
  w.exec = kMatrices == 4 ? kAllLanes : (1u << (8 * kMatrices)) - 1;  // the lanes that address rows
  const Reached r = reach(w, i, addresses_of(w, i.operands[kMatrices]),
                          {.space = Space::Shared, .bytes = 16, .kind = Touch::Read, .whole_warp = true});
  w.exec = kAllLanes;
  for (int m = 0; m < kMatrices; ++m) {
    alignas(64) uint16_t rows[8][8] = {};
    for (int row = 0; row < 8; ++row)
      if (r.good >> (8 * m + row) & 1) std::memcpy(rows[row], r.at[size_t(8 * m + row)], sizeof rows[row]);
    if constexpr (kTransposed)
      for (int a = 0; a < 8; ++a)
        for (int b = a + 1; b < 8; ++b) std::swap(rows[a][b], rows[b][a]);
    std::memcpy(w.lanes<uint32_t>(i.operands[size_t(m)]), rows, sizeof rows);
  }
}

void decode_ldmatrix(Statement& s) {
  s.words.take_any({"sync", "aligned"});
  const bool shared = s.words.take_one({"shared", "shared::cta"}) != "";  // else the address is generic
  s.instruction.meets = Meets::Warp;
  const bool transposed = s.words.take("trans");
  const std::string_view count = s.words.take_one({"x1", "x2", "x4"});
  s.instruction.results = count == "x4" ? 4 : count == "x2" ? 2 : 1;
  s.least_operands = s.instruction.results + 1u;
  if (!s.words.take("m8n8") || !s.words.take("b16") || !shared) return;
  Execute& e = s.instruction.execute;
  if (count == "x1") e = transposed ? &load_matrices<1, true> : &load_matrices<1, false>;
  if (count == "x2") e = transposed ? &load_matrices<2, true> : &load_matrices<2, false>;
  if (count == "x4") e = transposed ? &load_matrices<4, true> : &load_matrices<4, false>;
}

constexpr TableEntry kTable[] = {{"mma", &decode_mma}, {"ldmatrix", &decode_ldmatrix, 2}};

}  // namespace

std::span<const TableEntry> matrix_instructions() { return kTable; }

}  // namespace weft::cuda_device
