// SPDX-License-Identifier: Apache-2.0
// Matrix instructions: fragments as the manual shows them, against the product in plain loops.
#include <cmath>

#include "tests/simulator/machine/fixture.h"

namespace weft::cuda_device {
namespace {

using Matrix = std::vector<std::vector<float>>;

// Small integers: their values and sums are exact in bf16 and tf32.
Matrix numbers(size_t rows, size_t columns, int seed) {
  Matrix m(rows, std::vector<float>(columns));
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) m[r][c] = float(int((r * 7 + c * 3 + size_t(seed)) % 11) - 5);
  return m;
}
uint16_t bf16_of(float v) { return uint16_t(std::bit_cast<uint32_t>(v) >> 16); }

struct Shape {
  const char* name;
  int k, a_registers, b_registers;
  bool bf16;
};

// The manual's place for register `q` of lane `l` and half `h`: row and column in a; in b, row (k) and column (n).
std::pair<int, int> place_in_a(const Shape& s, int l, int q, int h) {
  const int group = l / 4, member = l % 4;
  return {group + (q % 2) * 8, s.bf16 ? member * 2 + h + q / 2 * 8 : member + q / 2 * 4};
}
std::pair<int, int> place_in_b(const Shape& s, int l, int q, int h) {
  const int group = l / 4, member = l % 4;
  return {s.bf16 ? member * 2 + h + q * 8 : member + q * 4, group};
}

class Mma : public testing::TestWithParam<Shape> {};

TEST_P(Mma, IsTheProduct) {
  const Shape s = GetParam();
  const Matrix a = numbers(16, size_t(s.k), 1), b = numbers(size_t(s.k), 8, 2), c = numbers(16, 8, 3);
  std::vector<uint32_t> words;  // lane by lane: the words of a, b, c
  const int halves = s.bf16 ? 2 : 1;
  for (int l = 0; l < kLanes; ++l) {
    const auto word = [&](const Matrix& m, auto place, int q) {
      uint32_t bits = 0;
      for (int h = 0; h < halves; ++h) {
        const auto [row, column] = place(s, l, q, h);
        const float v = m[size_t(row)][size_t(column)];
        bits |= s.bf16 ? uint32_t{bf16_of(v)} << (16 * h) : std::bit_cast<uint32_t>(v);
      }
      words.push_back(bits);
    };
    for (int q = 0; q < s.a_registers; ++q) word(a, place_in_a, q);
    for (int q = 0; q < s.b_registers; ++q) word(b, place_in_b, q);
    for (int q = 0; q < 4; ++q)
      words.push_back(std::bit_cast<uint32_t>(c[size_t(l / 4 + q / 2 * 8)][size_t(l % 4 * 2 + q % 2)]));
  }
  const int each = s.a_registers + s.b_registers + 4;
  std::string body = "mad.wide.u32 %rd8, %t, " + std::to_string(4 * each) + ", %rd0;\n", names[3];
  for (int q = 0; q < each; ++q) {
    const std::string r = "%r" + std::to_string(q);
    body += "ld.global.b32 " + r + ", [%rd8+" + std::to_string(4 * q) + "];\n";
    std::string& list = names[q < s.a_registers ? 0 : q < s.a_registers + s.b_registers ? 1 : 2];
    list += (list.empty() ? "" : ", ") + r;
  }
  const std::string type = s.bf16 ? "bf16" : "tf32";
  body += "mma.sync.aligned." + std::string(s.name) + ".row.col.f32." + type + "." + type +
          ".f32 {%r40, %r41, %r42, %r43}, {" + names[0] + "}, {" + names[1] + "}, {" + names[2] + "};\n" +
          "mad.wide.u32 %rd9, %t, 16, %rd1; st.global.v4.b32 [%rd9], {%r40, %r41, %r42, %r43};";
  TestDevice device;
  const uint64_t in = device.put(words), out = device.allocate(16 * kLanes);
  device.run_body(body, 2, {in, out});
  EXPECT_EQ(device.findings(), "");
  const auto got = device.get<float>(out, 4 * kLanes);
  for (int l = 0; l < kLanes; ++l)
    for (int q = 0; q < 4; ++q) {
      const auto row = size_t(l / 4 + q / 2 * 8), column = size_t(l % 4 * 2 + q % 2);
      float want = c[row][column];
      for (size_t k = 0; k < size_t(s.k); ++k) want += a[row][k] * b[k][column];
      EXPECT_EQ(got[size_t(4 * l + q)], want) << "row " << row << " column " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Mma,
                         testing::Values(Shape{"m16n8k16", 16, 4, 2, true}, Shape{"m16n8k8", 8, 2, 1, true},
                                         Shape{"m16n8k8", 8, 4, 2, false}, Shape{"m16n8k4", 4, 2, 1, false}),
                         [](const auto& info) {
                           return std::string(info.param.name) + (info.param.bf16 ? "bf16" : "tf32");
                         });

// Matrix m holds 100 m + its row and column; rows lie 80 bytes apart, as kernels place them against bank conflicts.
class LoadMatrix : public testing::TestWithParam<std::pair<int, bool>> {};

TEST_P(LoadMatrix, DealsOutRowsOrColumns) {
  const auto [count, transposed] = GetParam();
  std::vector<uint16_t> values(32 * 8);
  for (size_t row = 0; row < 32; ++row)
    for (size_t c = 0; c < 8; ++c) values[row * 8 + c] = uint16_t(row / 8 * 100 + row % 8 * 10 + c);
  std::string registers = "%r1";
  for (int m = 1; m < count; ++m) registers += ", %r" + std::to_string(m + 1);
  std::string body =
      ".shared .align 16 .b8 tile[2560];\nmov.u32 %r20, tile; mad.lo.u32 %r21, %t, 80, %r20;\n"
      "mad.wide.u32 %rd8, %t, 16, %rd0; ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd8];\n"
      "st.shared.v4.b32 [%r21], {%r30, %r31, %r32, %r33}; bar.warp.sync -1;\n"
      "ldmatrix.sync.aligned.m8n8.x" +
      std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 {" + registers +
      "}, [%r21];\nmad.wide.u32 %rd9, %t, 16, %rd1;\n";
  for (int m = 0; m < count; ++m)
    body += "st.global.b32 [%rd9+" + std::to_string(4 * m) + "], %r" + std::to_string(m + 1) + ";\n";
  TestDevice device;
  const uint64_t in = device.put(values), out = device.put(std::vector<uint32_t>(4 * kLanes));
  device.run_body(body, 2, {in, out});
  EXPECT_EQ(device.findings(), "");
  const auto got = device.get<uint32_t>(out, 4 * kLanes);
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t m = 0; m < uint32_t(count); ++m) {
      const uint32_t a = l / 4, b = l % 4 * 2, base = m * 100;
      const uint32_t low = transposed ? base + b * 10 + a : base + a * 10 + b;
      const uint32_t high = transposed ? base + (b + 1) * 10 + a : base + a * 10 + b + 1;
      EXPECT_EQ(got[4 * l + m], high << 16 | low) << "lane " << l << " matrix " << m;
    }
}

INSTANTIATE_TEST_SUITE_P(All, LoadMatrix,
                         testing::Values(std::pair(1, false), std::pair(2, false), std::pair(4, false),
                                         std::pair(1, true), std::pair(2, true), std::pair(4, true)));

TEST(Wmma, IsTheProductWhateverTheLayout) {
  const Matrix a = numbers(16, 16, 4), b = numbers(16, 16, 5), c = numbers(16, 16, 6);
  std::vector<uint16_t> rows, columns;
  std::vector<float> sums;
  for (size_t r = 0; r < 16; ++r)
    for (size_t k = 0; k < 16; ++k) {
      rows.push_back(bf16_of(a[r][k]));
      columns.push_back(bf16_of(b[k][r]));  // column-major
      sums.push_back(c[r][k]);
    }
  const std::string fc = "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}";
  const std::string body =
      "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r0, %r1, %r2, %r3}, [%rd0], 16;\n"
      "wmma.load.b.sync.aligned.col.m16n16k16.global.bf16 {%r4, %r5, %r6, %r7}, [%rd1], 16;\n"
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " +
      fc +
      ", [%rd2], 16;\n"
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 " +
      fc + ", {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, " + fc +
      ";\n"
      "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd3], " +
      fc + ", 16;";
  TestDevice device;
  const uint64_t out = device.allocate(256 * 4);
  device.run_body(body, 4, {device.put(rows), device.put(columns), device.put(sums), out});
  EXPECT_EQ(device.findings(), "");
  const auto got = device.get<float>(out, 256);
  for (size_t r = 0; r < 16; ++r)
    for (size_t n = 0; n < 16; ++n) {
      float want = c[r][n];
      for (size_t k = 0; k < 16; ++k) want += a[r][k] * b[k][n];
      EXPECT_EQ(got[n * 16 + r], want);
    }
}

}  // namespace
}  // namespace weft::cuda_device
