// SPDX-License-Identifier: Apache-2.0
#include "plan/part_times.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/divide_up.h"
#include "base/error.h"

namespace weft {
namespace {

struct Tile {
  int64_t rows, columns;
};
constexpr std::array<Tile, 3> kProductTiles{{{128, 256}, {256, 128}, {128, 128}}};
constexpr int64_t kMostDivisions = 16;

// The tiles of weft's own kernels for heads of 64 columns when their rate was measured (since then, backward takes
// 128 x 32, and short sequences less), and one like those of cuDNN.
constexpr Tile kOwnForward{128, 64}, kOwnBackward{64, 64}, kLibrary{128, 128};

// Pairs of a query and a key in all tiles that are computed.
double pairs_in_tiles(const OperationPart& part, Tile tile) {
  const int64_t keys = divide_up(part.n, tile.columns) * tile.columns;
  double pairs = 0;
  for (int64_t row = 0; row < part.m; row += tile.rows) {
    const int64_t end = part.causal ? row + tile.rows : part.window > 0 ? row + tile.rows + part.window - 1 : keys;
    const int64_t first = part.window > 0 ? std::max<int64_t>(0, row - part.window + 1) : 0;
    const int64_t seen =
        std::min(divide_up(end, tile.columns) * tile.columns, keys) - first / tile.columns * tile.columns;
    pairs += static_cast<double>(tile.rows) * static_cast<double>(seen);
  }
  return pairs;
}

}  // namespace

PartTimes::PartTimes(const DeviceSpec& device, const Reach& reach, Precision precision, AttentionChoice attention)
    : multiprocessors_(device.multiprocessors),
      tile_start_(reach.tile_start),
      product_rate_(stated_gflops(device, precision) * 1e9 * device.product_share),
      own_rate_(1e12 * (precision == Precision::Bf16 ? device.own_attention_teraflops
                                                     : device.fp32_teraflops * reach.fp32_attention)),
      library_rate_(1e12 * device.library_attention_teraflops),
      memory_rate_(device.memory_gbps * reach.memory * 1e9),
      library_(precision == Precision::Bf16 && (attention == AttentionChoice::Cudnn ||
                                                (attention == AttentionChoice::Auto && device.library_attends))) {}

double PartTimes::seconds(const OperationPart& part) const {
  switch (part.kind) {
    case OperationKind::Product:
      return product(part);
    case OperationKind::Attention:
      return attention(part);
    case OperationKind::Memory:
    case OperationKind::Collective:
      return memory(part.bytes);
  }
  throw InternalError("no such kind of operation");
}

double PartTimes::whole(const Ledger::Entry& operation) const {
  const double rate = operation.kind == OperationKind::Attention ? own_rate_ : product_rate_;
  return operation.kind == OperationKind::Memory ? memory(operation.bytes)
                                                 : std::max(operation.flops / rate, memory(operation.bytes));
}

double PartTimes::product(const OperationPart& part) const {
  if (part.m == 0 || part.n == 0 || part.k == 0) return memory(part.bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kProductTiles) {
    const int64_t tiles = divide_up(part.m, tile.rows) * divide_up(part.n, tile.columns);
    for (int64_t divided = 1; divided <= kMostDivisions; ++divided) {
      const auto waves = static_cast<double>(divide_up(tiles * divided, multiprocessors_));
      const double steps = static_cast<double>(divide_up(part.k, divided)) + tile_start_;
      const double of_tile = 2.0 * static_cast<double>(tile.rows * tile.columns) * steps;
      const double sums = divided == 1 ? 0 : 8.0 * static_cast<double>(divided * part.m * part.n);
      least = std::min(least, std::max(waves * of_tile * multiprocessors_ / product_rate_, memory(part.bytes + sums)));
    }
  }
  return least;
}

double PartTimes::attention(const OperationPart& part) const {
  const bool library = library_ && part.for_libraries;
  const Tile tile = library ? kLibrary : part.backward ? kOwnBackward : kOwnForward;
  const int products = !part.backward ? 2 : library ? 5 : 7;
  const double flops = 2.0 * products * pairs_in_tiles(part, tile) * static_cast<double>(part.k);
  return std::max(flops / (library ? library_rate_ : own_rate_), memory(part.bytes));
}

}  // namespace weft
