// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/cpu/tile.h"
#include "kernels/cpu/vec.h"

namespace weft::cpu {

// A weight [out, in] as a batch-invariant product reads it: in panels of kPanelColumns outputs, one after another in
// memory. A panel holds one input after another, each with its outputs; zeros fill the last panel. An element W is the
// accumulator type A itself, bf16 or int8; two inputs of bf16 lie side by side, so that one vector of memory gives two
// vectors of numbers by one instruction each.
template <class A>
inline constexpr int64_t kPanelColumns = kTileVectors* kVecLanes<A>;

// The number of inputs that lie side by side.
template <class W>
inline constexpr int64_t kPanelSteps = std::is_same_v<W, BFloat16> ? 2 : 1;

template <class A>
constexpr int64_t panels_of(int64_t out) {
  return (out + kPanelColumns<A> - 1) / kPanelColumns<A>;
}

template <class A, class W>
constexpr int64_t panel_elements(int64_t in) {
  return (in + kPanelSteps<W> - 1) / kPanelSteps<W> * kPanelSteps<W> * kPanelColumns<A>;
}

// The index in its panel of the weight of an output (below kPanelColumns) at an input.
template <class A, class W>
constexpr int64_t place_in_panel(int64_t output, int64_t input) {
  constexpr int64_t kSteps = kPanelSteps<W>;
  return (input / kSteps * kPanelColumns<A> + output) * kSteps + input % kSteps;
}

// sums [rows, kPanelColumns] = x [rows, in] times a panel, for up to kTileRows rows of x. Every sum is one chain of
// multiply-adds over rising inputs, whatever the number of rows.
template <class A, class W>
struct PanelTile {
  const A* x = nullptr;
  int64_t x_row = 0, in = 0;
  const W* panel = nullptr;
  bool from_memory = false;  // the panel is in no cache yet
  A* sums = nullptr;
};

namespace panel_detail {

// A panel is prefetched kAhead bytes ahead of the products: this hides the memory's latency at page ends, where the
// processor's own prefetching starts over.
inline constexpr int64_t kAhead = 2048, kCacheLine = 64;

// Loads a vector of a panel as numbers; if two inputs lie side by side, input `Step` of them.
template <class A, class W, int Step>
[[gnu::always_inline]] inline Vec<A> widened(const W* from) {
  if constexpr (std::is_same_v<W, BFloat16>) {
    vec_detail::Words words;
    std::memcpy(&words, from, sizeof words);
    return reinterpret_cast<Vec<A>>(Step == 0 ? words << 16 : words & 0xffff0000u);
  } else if constexpr (std::is_same_v<W, int8_t>) {
    return load_small(from);
  } else {
    return load(from);
  }
}

template <class A, class W, int Rows, int Step>
[[gnu::always_inline]] inline void add_input(const A* x, int64_t x_row, const W* panel,
                                             Vec<A> (&sum)[Rows][kTileVectors]) {
  Vec<A> weights[kTileVectors];
  for (int v = 0; v < kTileVectors; ++v) {
    weights[v] = widened<A, W, Step>(panel + v * kVecLanes<A> * kPanelSteps<W>);
  }
  for (int r = 0; r < Rows; ++r) {
    const A factor = x[r * x_row];
    for (int v = 0; v < kTileVectors; ++v) sum[r][v] += factor * weights[v];
  }
}

template <class A, class W, int Rows, bool FromMemory>
[[gnu::always_inline]] inline void add_inputs(const PanelTile<A, W>& t, Vec<A> (&sum)[Rows][kTileVectors]) {
  constexpr int64_t kSteps = kPanelSteps<W>, kStride = kPanelColumns<A> * kSteps;
  const W* panel = t.panel;
  int64_t i = 0;
  for (; i + kSteps <= t.in; i += kSteps, panel += kStride) {
    if constexpr (FromMemory) {
      const auto* ahead = reinterpret_cast<const std::byte*>(panel) + kAhead;
      for (size_t b = 0; b < kStride * sizeof(W); b += kCacheLine) __builtin_prefetch(ahead + b, 0, 2);
    }
    add_input<A, W, Rows, 0>(t.x + i, t.x_row, panel, sum);
    if constexpr (kSteps == 2) add_input<A, W, Rows, 1>(t.x + i + 1, t.x_row, panel, sum);
  }
  if (i < t.in) add_input<A, W, Rows, 0>(t.x + i, t.x_row, panel, sum);
}

template <class A, class W, int Rows>
void tile(const PanelTile<A, W>& t) {
  Vec<A> sum[Rows][kTileVectors] = {};
  t.from_memory ? add_inputs<A, W, Rows, true>(t, sum) : add_inputs<A, W, Rows, false>(t, sum);
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < kTileVectors; ++v) store(t.sums + r * kPanelColumns<A> + v * kVecLanes<A>, sum[r][v]);
  }
}

template <class A, class W>
inline constexpr auto kTiles = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array{&tile<A, W, I + 1>...};
}
(std::make_integer_sequence<int, kTileRows>{});

}  // namespace panel_detail

template <class A, class W>
void panel_tile(const PanelTile<A, W>& tile, int64_t rows) {
  panel_detail::kTiles<A, W>[rows - 1](tile);
}

}  // namespace weft::cpu
