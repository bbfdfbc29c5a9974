// SPDX-License-Identifier: Apache-2.0
// Products with packed weights, for decoding. A row's bits depend on the row and the weight alone, not on other rows or
// on the number of threads.
#include <cmath>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/products/panels.h"
#include "kernels/formulas/packed_weight.h"

namespace weft::cpu {
namespace {

// Bytes of the rows that each panel is multiplied with before the next panel: they stay in a core's cache beside it.
constexpr int64_t kBlockBytes = int64_t{768} << 10;

// Calls f.template operator()<A, W>() with the types of sums and of packed elements.
template <class F>
decltype(auto) with_packed_types(WeightFormat format, F&& f) {
  switch (format) {
    case WeightFormat::F32:
      return f.template operator()<float, float>();
    case WeightFormat::Bf16:
      return f.template operator()<float, BFloat16>();
    case WeightFormat::Int8:
      return f.template operator()<float, int8_t>();
    case WeightFormat::Own:  // pack_weight() replaces Own for f32 and bf16, so f64 is left
      return f.template operator()<double, double>();
  }
  throw InternalError("no such format of weights");
}

// A packed weight: for int8 the scale of each output, and then the panels.
template <class A, class W>
struct PackedParts {
  float* scales = nullptr;
  W* panels = nullptr;
  PackedParts(int64_t out, int64_t in, Scratch memory) {
    const int64_t count = panels_of<A>(out);
    if constexpr (std::is_same_v<W, int8_t>) scales = memory.take<float>(count * kPanelColumns<A>);
    panels = memory.take<W>(count * panel_elements<A, W>(in));
    bytes = memory.taken();
  }
  size_t bytes = 0;
};

template <class T>
float int8_scale(const T* row, int64_t in) {
  formulas::Int8Range range;
  for (int64_t i = 0; i < in; ++i) range.add(element_cast<float>(row[i]));
  return range.scale();
}

template <class W, class T>
W packed_element(T weight, float inverse_scale) {
  if constexpr (std::is_same_v<W, int8_t>) {
    return static_cast<int8_t>(std::lrint(element_cast<float>(weight) * inverse_scale));
  } else {
    return element_cast<W>(weight);
  }
}

template <class A, class W, class T>
void pack_panels(const PackWeight& args, int threads) {
  const int64_t out = args.weight.elements() / args.weight.columns(), in = args.weight.columns();
  const PackedParts<A, W> to(out, in, Scratch(args.data.device_raw()));
  const T* weight = args.weight.device_data<T>();
  // Every byte has a value, also those beside the weight's elements: the same weight is packed to the same bytes.
  std::byte* bytes = args.data.device_raw();
  parallel_for(threads, static_cast<int64_t>(args.data.bytes()), int64_t{1} << 16,
               [&](int64_t begin, int64_t end) { std::fill(bytes + begin, bytes + end, std::byte{}); });
  parallel_for(threads, panels_of<A>(out), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      W* panel = to.panels + p * panel_elements<A, W>(in);
      for (int64_t c = 0; c < kPanelColumns<A>; ++c) {
        const int64_t output = p * kPanelColumns<A> + c;
        const T* row = weight + output * in;
        float inverse = 0;
        if (to.scales) {
          const float scale = output < out ? int8_scale(row, in) : 0;
          to.scales[output] = scale;
          inverse = formulas::inverse_scale(scale);
        }
        for (int64_t i = 0; output < out && i < in; ++i) {
          panel[place_in_panel<A, W>(c, i)] = packed_element<W>(row[i], inverse);
        }
      }
    }
  });
}

// Returns x in the accumulator dtype: x itself, or x widened into scratch.
template <class A>
const A* wide_rows(const LinearForward& args, Scratch scratch, int threads) {
  if (args.x.dtype() == DTypeOf<A>::value) return args.x.device_data<A>();
  A* wide = scratch.take<A>(args.x.elements());
  convert_elements(args.x.device_data<BFloat16>(), wide, args.x.elements(), threads);
  return wide;
}

// y = act(sums scale + bias) for some rows and one panel. An activation reads the sum rounded to y's dtype, as a
// product that keeps `pre` does.
template <class A, class X, class Y>
class PanelEnd {
 public:
  PanelEnd(const LinearForward& args, const float* scales)
      : out_(args.y.columns()),
        activation_(args.activation),
        scales_(scales),
        bias_(args.bias ? args.bias.device_data<X>() : nullptr),
        y_(args.y.device_data<Y>()) {}

  void write(int64_t row, int64_t panel, A* sums) const {
    const int64_t first = panel * kPanelColumns<A>, n = std::min(kPanelColumns<A>, out_ - first);
    if (scales_) {
      for (int64_t c = 0; c < n; ++c) sums[c] *= static_cast<A>(scales_[first + c]);
    }
    if (bias_) {
      for (int64_t c = 0; c < n; ++c) sums[c] += element_cast<A>(bias_[first + c]);
    }
    Y* y = y_ + row * out_ + first;
    with_activation(activation_, [&]<Activation Act>() {
      for (int64_t c = 0; c < n; ++c) {
        if constexpr (Act == Activation::None) {
          y[c] = element_cast<Y>(sums[c]);
        } else {
          y[c] = element_cast<Y>(activated<Act>(element_cast<A>(element_cast<Y>(sums[c]))));
        }
      }
    });
  }

 private:
  int64_t out_;
  Activation activation_;
  const float* scales_;
  const X* bias_;
  Y* y_;
};

// Where part i begins if n is cut into `parts`.
int64_t cut(int64_t n, int64_t i, int64_t parts) { return n * i / parts; }

template <class A, class W, class End>
void multiply_panels(const A* x, int64_t rows, int64_t in, int64_t out, const W* panels, const End& end_of_panel,
                     int threads) {
  const int64_t most = std::max<int64_t>(kTileRows, kBlockBytes / (in * static_cast<int64_t>(sizeof(A))));
  const int64_t blocks = (rows + most - 1) / most, count = panels_of<A>(out);
  parallel_for(threads, blocks * count, 1, [&](int64_t begin, int64_t end) {
    alignas(kVecBytes) A sums[kTileRows * kPanelColumns<A>];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = cut(rows, task / count, blocks), last = cut(rows, task / count + 1, blocks);
      const int64_t panel = task % count, tiles = (last - first + kTileRows - 1) / kTileRows;
      for (int64_t t = 0; t < tiles; ++t) {
        const int64_t row = first + cut(last - first, t, tiles), n = first + cut(last - first, t + 1, tiles) - row;
        panel_tile<A, W>({.x = x + row * in,
                          .x_row = in,
                          .in = in,
                          .panel = panels + panel * panel_elements<A, W>(in),
                          .from_memory = t == 0,
                          .sums = sums},
                         n);
        for (int64_t r = 0; r < n; ++r) end_of_panel.write(row + r, panel, sums + r * kPanelColumns<A>);
      }
    }
  });
}

}  // namespace

size_t CpuBackend::packed_bytes(int64_t out, int64_t in, WeightFormat format) const {
  return with_packed_types(format, [&]<class A, class W>() { return PackedParts<A, W>(out, in, {}).bytes; });
}

template <>
void CpuBackend::run(const PackWeight& args) {
  with_packed_types(args.format, [&]<class A, class W>() {
    if constexpr (std::is_same_v<A, double>) {
      pack_panels<A, W, double>(args, threads_);
    } else if (args.weight.dtype() == DType::BF16) {
      pack_panels<A, W, BFloat16>(args, threads_);
    } else {
      pack_panels<A, W, float>(args, threads_);
    }
  });
}

void CpuBackend::packed_linear(const LinearForward& args, Scratch scratch) {
  const PackedLayout& packed = *args.packed;
  const int64_t rows = args.x.rows(), in = packed.in, out = packed.out;
  with_packed_types(packed.format, [&]<class A, class W>() {
    const PackedParts<A, W> weight(out, in, Scratch(packed.data.device_raw()));
    const A* x = wide_rows<A>(args, scratch, threads_);
    const auto into = [&]<class X, class Y>() {
      multiply_panels(x, rows, in, out, weight.panels, PanelEnd<A, X, Y>(args, weight.scales), threads_);
    };
    if constexpr (std::is_same_v<A, double>) {
      into.template operator()<double, double>();
    } else if (args.x.dtype() == DType::F32) {
      into.template operator()<float, float>();
    } else if (args.y.dtype() == DType::F32) {
      into.template operator()<BFloat16, float>();
    } else {
      into.template operator()<BFloat16, BFloat16>();
    }
  });
}

}  // namespace weft::cpu
