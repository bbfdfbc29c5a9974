#include "kernels/cpu/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/convert.h"

namespace weft::cpu {

void fill(const Tensor& t, double value, int threads) {
  with_float_type(t.dtype(), [&]<class T>() {
    T* y = t.data<T>();
    const T v = element_cast<T>(value);
    parallel_for(threads, t.elements(), kElementGrain,
                 [=](int64_t begin, int64_t end) { std::fill(y + begin, y + end, v); });
  });
}

void convert(const Tensor& from, const Tensor& to, int threads) {
  if (from.dtype() == to.dtype()) {
    if (from.raw() == to.raw()) return;
    parallel_for(threads, static_cast<int64_t>(from.bytes()), kElementGrain * 4, [&](int64_t begin, int64_t end) {
      std::memcpy(to.raw() + begin, from.raw() + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  with_float_type(from.dtype(), [&]<class From>() {
    with_float_type(to.dtype(),
                    [&]<class To>() { convert_elements(from.data<From>(), to.data<To>(), from.elements(), threads); });
  });
}

void add_scaled(const Tensor& x, double scale, const Tensor& y, int threads) {
  with_float_type(y.dtype(), [&]<class T>() {
    using Acc = Accumulator<T>;
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const Acc s = static_cast<Acc>(scale);
    parallel_for(threads, y.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = element_cast<T>(element_cast<Acc>(to[i]) + s * element_cast<Acc>(from[i]));
      }
    });
  });
}

void scale_in_place(const Tensor& y, double scale, int threads) {
  with_float_type(y.dtype(), [&]<class T>() {
    using Acc = Accumulator<T>;
    T* to = y.data<T>();
    const Acc s = static_cast<Acc>(scale);
    parallel_for(threads, y.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = element_cast<T>(s * element_cast<Acc>(to[i]));
    });
  });
}

void gather_rows(const Tensor& from, const Tensor& index, const Tensor& to, int threads) {
  const auto row_bytes = static_cast<int64_t>(size_of(from.dtype())) * from.columns();
  const int32_t* rows = index.data<int32_t>();
  const int64_t limit = from.rows();
  const int64_t grain = kElementGrain * 4 / std::max<int64_t>(row_bytes, 1) + 1;
  for (int64_t i = 0; i < index.elements(); ++i) {
    require<InternalError>(0 <= rows[i] && rows[i] < limit, "gather_rows: index {} of {} rows", rows[i], limit);
  }
  parallel_for(threads, index.elements(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(to.raw() + i * row_bytes, from.raw() + rows[i] * row_bytes, static_cast<size_t>(row_bytes));
    }
  });
}

void join_columns(const Tensor& parts, const Tensor& to) {
  const auto width = static_cast<int64_t>(size_of(to.dtype()));
  const int64_t rows = to.size(0), columns = to.size(1), part_columns = parts.size(2);
  for (int64_t p = 0; p < parts.size(0); ++p) {
    const int64_t first = p * part_columns, n = std::min(part_columns, columns - first);
    for (int64_t r = 0; r < rows && n > 0; ++r) {
      std::memcpy(to.raw() + (r * columns + first) * width, parts.raw() + (p * rows + r) * part_columns * width,
                  static_cast<size_t>(n * width));
    }
  }
}

void add_row(const Tensor& row, const Tensor& y, int threads) {
  with_float_type(y.dtype(), [&]<class T>() {
    with_float_type(row.dtype(), [&]<class R>() {
      using Acc = Accumulator<T>;
      const int64_t columns = y.columns();
      const R* addend = row.data<R>();
      T* to = y.data<T>();
      parallel_for(threads, y.rows(), kElementGrain / std::max<int64_t>(columns, 1) + 1,
                   [=](int64_t first, int64_t last) {
                     for (int64_t r = first; r < last; ++r) {
                       T* out = to + r * columns;
                       for (int64_t c = 0; c < columns; ++c) {
                         out[c] = element_cast<T>(element_cast<Acc>(out[c]) + element_cast<Acc>(addend[c]));
                       }
                     }
                   });
    });
  });
}

}  // namespace weft::cpu
