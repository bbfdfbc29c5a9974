// SPDX-License-Identifier: Apache-2.0
// What attention's tiles cost, counted on the simulated device: fragments that ldmatrix reads for the products that
// they serve, and the warps and products that short sequences leave without a row.
#include <algorithm>
#include <numeric>

#include "simulator/runtime/simulator.h"
#include "tests/kernels/fixture/attention_case.h"

namespace weft {
namespace {

using cuda_device::KernelCounts;
using test::AttentionRun;
using test::offsets_of;

// The counts of each kernel of attention over heads of 64 in bf16: forward, keys' and queries' gradients.
struct Counted {
  KernelCounts forward, keys, queries;
};

KernelCounts counts_of(const std::string& kernel, int warps) {
  const std::string name = "attention_" + kernel + "<__nv_bfloat16, 64, " + std::to_string(warps) + ">";
  KernelCounts found;
  for (const auto& [full, counts] : cuda_device::simulator().kernels) {
    if (full.find(name) != std::string::npos) found += counts;
  }
  EXPECT_GT(found.counted.launches, 0u) << name << " did not run";
  return found;
}

Counted count(const std::vector<int32_t>& lengths, int warps) {
  const std::vector<int32_t> offsets = offsets_of(lengths);
  AttentionRun run({.heads = {1, 1, 64}, .query_offsets = offsets, .key_offsets = offsets, .dtype = DType::BF16});
  cuda_device::simulator().kernels.clear();
  run.forward(), run.backward();
  return {counts_of("forward", warps), counts_of("key_gradients", warps), counts_of("query_gradients", warps)};
}

// Four warps of 16 rows, each with 32 rows of each other tile. Scores: 4 steps over the width, each a fragment of the
// warp's rows and 2 of the others. Sums: 2 steps over the others, 4 fragments each. Backward makes scores twice; for
// keys the second time in two halves, which ask for the warp's own rows again.
TEST(AttentionTiles, FourWarpsShareATileOfLongSequences) {
  constexpr uint64_t kRows = 256, kPairs = kRows / 16 * (kRows / 32);
  const Counted c = count({kRows}, 4);
  for (const KernelCounts* k : {&c.forward, &c.keys, &c.queries}) {
    EXPECT_EQ(k->threads, 128u);
    EXPECT_EQ(k->blocks, kRows / 64 + 1);  // the last has no rows
  }
  const auto expect = [](const KernelCounts& k, uint64_t products, uint64_t loads) {
    EXPECT_EQ(k.counted.matrix_products, products * kPairs);
    EXPECT_EQ(k.counted.matrix_loads, loads * kPairs);
  };
  expect(c.forward, 2 * 16,
         2 + 4 * 2 + 8);  // a tile of 64 keys: its queries' 4 fragments are read once for both halves
  expect(c.keys, 4 * 16, 4 * (1 + 2) + 2 * 4 * (1 + 1) + 2 * 8);
  expect(c.queries, 3 * 16, 2 * 4 * (1 + 2) + 8);
}

// Lengths of a batch of sentences: 4 .. 64 tokens, 26 in the mean.
std::vector<int32_t> sentences() { return {12, 31, 22, 18, 47, 25, 9, 28, 34, 16, 64, 21, 26, 14, 38, 19}; }

TEST(AttentionTiles, FewRowsOfShortSequencesAreBehindTheirEnd) {
  const std::vector<int32_t> lengths = sentences();
  const auto warps_with_rows = static_cast<uint64_t>(
      std::accumulate(lengths.begin(), lengths.end(), 0, [](int sum, int length) { return sum + (length + 15) / 16; }));
  const auto rows = static_cast<uint64_t>(std::accumulate(lengths.begin(), lengths.end(), 0));
  uint64_t blocks = 0;  // that have rows
  for (const int32_t n : lengths) blocks += static_cast<uint64_t>(n + 31) / 32;
  const Counted c = count(lengths, 2);
  for (const KernelCounts* k : {&c.forward, &c.keys, &c.queries}) {
    EXPECT_EQ(k->threads, 64u);
    EXPECT_EQ(k->blocks, rows / 32 + lengths.size());
    EXPECT_LE(4 * blocks * k->threads / 32, 5 * warps_with_rows) << "more than a fifth of the warps have no rows";
  }
  // Each 16 rows are multiplied with whole tiles of 64 keys, or 32 queries or keys; sums leave out 16 that nobody sees.
  uint64_t forward = 0, keys = 0, queries = 0;
  for (const int32_t n : lengths) {
    const auto tiles = [n](int32_t size) { return static_cast<uint64_t>((n + size - 1) / size); };
    forward += tiles(16) * (32 * tiles(64) + 8 * tiles(16));
    keys += tiles(16) * (16 * tiles(32) + 24 * tiles(16));
    queries += tiles(16) * (32 * tiles(32) + 8 * tiles(16));
  }
  EXPECT_EQ(c.forward.counted.matrix_products, forward);
  EXPECT_EQ(c.keys.counted.matrix_products, keys);
  EXPECT_EQ(c.queries.counted.matrix_products, queries);
}

}  // namespace
}  // namespace weft
