// SPDX-License-Identifier: Apache-2.0
// wmma of 16 x 16 x 16, bf16 with fp32 sums. The manual leaves open which lane holds which element of a fragment. Here
// the elements are scattered over the lanes, so that code which assumes a place for them fails.
#include "simulator/machine/access.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/rounding.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

constexpr int kSide = 16, kElements = kSide * kSide, kEach = kElements / kLanes;

// The index in row-major order of the element that is lane l's k-th.
int element(int lane, int k) { return (lane * kEach + k) ^ 0x5a; }

bool is_whole_warp(Warp& w, const Instruction& i) {
  if (w.exec == kAllLanes) return true;
  report(w, i, w.first_lane(), ReportKind::Barrier, "a matrix instruction needs all 32 lanes");
  return false;
}

// Visits a matrix in memory in pieces of 16 bytes, one a lane. `stride`: elements from one row (or column) to the next.
template <class T, class F>
void for_pieces(Warp& w, const Instruction& i, const Operand& where, const Operand& stride, Touch kind, F&& f) {
  constexpr int kPiece = 16 / sizeof(T), kPieces = kSide / kPiece;
  const Addresses base = addresses_of(w, where);
  for (int first = 0; first < kSide * kPieces; first += kLanes) {
    Addresses at;
    for (int l = 0; l < kLanes; ++l) {
      const int line = (first + l) / kPieces, piece = (first + l) % kPieces;
      const auto elements = uint64_t(line) * w.lanes<uint32_t>(stride)[l] + uint64_t(piece * kPiece);
      at[size_t(l)] = base[size_t(l)] + elements * sizeof(T);
    }
    const Reached r = reach(w, i, at, {.space = i.space, .bytes = 16, .kind = kind, .whole_warp = true});
    for_each_lane(r.good, [&](int l) {
      f((first + l) / kPieces, (first + l) % kPieces * kPiece, reinterpret_cast<T*>(r.at[size_t(l)]), kPiece);
    });
  }
}

// The mode of loads and stores: 1 if lines are columns.
template <class T, int kRegisters>
void load(Warp& w, const Instruction& i) {  // {registers}, [address], stride
  if (!is_whole_warp(w, i)) return;
  T matrix[kSide][kSide] = {};
  for_pieces<T>(w, i, i.operands[kRegisters], i.operands[kRegisters + 1], Touch::Read,
                [&](int line, int column, const T* from, int count) {
                  for (int k = 0; k < count; ++k)
                    (i.mode ? matrix[column + k][line] : matrix[line][column + k]) = from[k];
                });
  constexpr int kInRegister = kEach / kRegisters;
  for (int l = 0; l < kLanes; ++l)
    for (int k = 0; k < kEach; ++k) {
      const int e = element(l, k);
      w.lanes<T>(i.operands[size_t(k / kInRegister)])[l * kInRegister + k % kInRegister] = matrix[e / kSide][e % kSide];
    }
}

void store(Warp& w, const Instruction& i) {  // [address], {registers}, stride
  if (!is_whole_warp(w, i)) return;
  float matrix[kSide][kSide];
  for (int l = 0; l < kLanes; ++l)
    for (int k = 0; k < kEach; ++k) {
      const int e = element(l, k);
      matrix[e / kSide][e % kSide] = w.lanes<float>(i.operands[size_t(1 + k)])[l];
    }
  for_pieces<float>(w, i, i.operands[0], i.operands[1 + kEach], Touch::Write,
                    [&](int line, int column, float* to, int count) {
                      for (int k = 0; k < count; ++k)
                        to[k] = i.mode ? matrix[column + k][line] : matrix[line][column + k];
                    });
}

void multiply(Warp& w, const Instruction& i) {  // d of 8 registers, a of 4, b of 4, c of 8
  if (!is_whole_warp(w, i)) return;
  float a[kSide][kSide], b[kSide][kSide], c[kSide][kSide];
  for (int l = 0; l < kLanes; ++l)
    for (int k = 0; k < kEach; ++k) {
      const int e = element(l, k), row = e / kSide, column = e % kSide;
      a[row][column] = from_bf16(w.lanes<uint16_t>(i.operands[size_t(8 + k / 2)])[l * 2 + k % 2]);
      b[row][column] = from_bf16(w.lanes<uint16_t>(i.operands[size_t(12 + k / 2)])[l * 2 + k % 2]);
      c[row][column] = w.lanes<float>(i.operands[size_t(16 + k)])[l];
    }
  for (int row = 0; row < kSide; ++row)
    for (int k = 0; k < kSide; ++k)
      for (int n = 0; n < kSide; ++n) c[row][n] = __builtin_fmaf(a[row][k], b[k][n], c[row][n]);
  for (int l = 0; l < kLanes; ++l)
    for (int k = 0; k < kEach; ++k)
      w.lanes<float>(i.operands[size_t(k)])[l] = c[element(l, k) / kSide][element(l, k) % kSide];
}

void decode_wmma(Statement& s) {
  Instruction& i = s.instruction;
  const std::string_view what = s.words.take_one({"load", "store", "mma"});
  s.words.take_any({"sync", "aligned"});
  i.meets = Meets::Warp;
  if (!s.words.take("m16n16k16")) return;
  if (what == "mma") {  // the layouts only tell how the fragments were loaded
    i.results = kEach;
    s.least_operands = 3 * kEach;
    s.words.take_any({"row", "col"});
    s.words.take_any({"row", "col"});
    if (s.words.take("f32") && s.words.take("bf16") && s.words.take("bf16") && s.words.take("f32"))
      i.execute = &multiply;
    return;
  }
  const std::string_view which = s.words.take_one({"a", "b", "c", "d"});
  i.mode = s.words.take_one({"row", "col"}) == "col";
  const std::string_view space = s.words.take_one({"global", "shared", "shared::cta"});
  i.space = space == "global" ? Space::Global : space.empty() ? Space::Generic : Space::Shared;
  const std::string_view type = s.words.take_last();
  if (s.operands.size() == 2) s.operands.push_back("16");  // without a stride the matrix is dense
  i.results = what == "store" ? 0 : type == "f32" ? kEach : kEach / 2;
  s.least_operands = 2u + (what == "store" ? kEach : i.results);
  if (what == "store" && type == "f32") i.execute = &store;
  if (what == "load" && type == "f32" && which == "c") i.execute = &load<float, kEach>;
  if (what == "load" && type == "bf16" && (which == "a" || which == "b")) i.execute = &load<uint16_t, kEach / 2>;
}

constexpr TableEntry kTable[] = {{"wmma", &decode_wmma}};

}  // namespace

std::span<const TableEntry> matrix_fragment_instructions() { return kTable; }

}  // namespace weft::cuda_device
