// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {

namespace {

template <class T>
void fill(const Tensor& t, T value, int threads) {
  T* y = t.device_data<T>();
  parallel_for(threads, t.elements(), kElementGrain,
               [=](int64_t begin, int64_t end) { std::fill(y + begin, y + end, value); });
}

void copy(const Tensor& from, const Tensor& to, int threads) {
  const std::byte* source = from.device_raw();
  std::byte* target = to.device_raw();
  if (source == target) return;
  parallel_for(threads, static_cast<int64_t>(from.bytes()), kElementGrain * 4, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace

template <>
void CpuBackend::run(const Fill& args) {
  switch (args.t.dtype()) {
    case DType::I32:
      return fill(args.t, static_cast<int32_t>(args.value), threads_);
    case DType::I64:
      return fill(args.t, static_cast<int64_t>(args.value), threads_);
    case DType::F32:
    case DType::BF16:
    case DType::F64:
      with_float_type(args.t.dtype(), [&]<class T>() { fill(args.t, element_cast<T>(args.value), threads_); });
  }
}

template <>
void CpuBackend::run(const Convert& args) {
  if (args.from.dtype() == args.to.dtype()) return copy(args.from, args.to, threads_);
  with_float_type(args.from.dtype(), [&]<class From>() {
    with_float_type(args.to.dtype(), [&]<class To>() {
      convert_elements(args.from.device_data<From>(), args.to.device_data<To>(), args.from.elements(), threads_);
    });
  });
}

template <>
void CpuBackend::run(const AddScaled& args) {
  const auto& [x, scale, y] = args;
  const auto add = [&]<class From, class T>(const From* from, T* to) {
    using Acc = Accumulator<T>;
    const Acc s = static_cast<Acc>(scale);
    parallel_for(threads_, y.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = element_cast<T>(element_cast<Acc>(to[i]) + s * element_cast<Acc>(from[i]));
      }
    });
  };
  with_float_type(y.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, float>) {
      if (x.dtype() == DType::BF16) return add(x.device_data<BFloat16>(), y.device_data<T>());
    }
    add(x.device_data<T>(), y.device_data<T>());
  });
}

template <>
void CpuBackend::run(const GatherRows& args) {
  const auto& [from, index, to] = args;
  const auto row_bytes = static_cast<int64_t>(size_of(from.dtype())) * from.columns();
  const int32_t* rows = index.device_data<int32_t>();
  const int64_t limit = from.rows();
  const int64_t grain = kElementGrain * 4 / std::max<int64_t>(row_bytes, 1) + 1;
  for (int64_t i = 0; i < index.elements(); ++i) {
    require<InternalError>(0 <= rows[i] && rows[i] < limit, "gather_rows: index {} of {} rows", rows[i], limit);
  }
  parallel_for(threads_, index.elements(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(to.device_raw() + i * row_bytes, from.device_raw() + rows[i] * row_bytes,
                  static_cast<size_t>(row_bytes));
    }
  });
}

template <>
void CpuBackend::run(const JoinColumns& args) {
  const auto& [parts, to] = args;
  const auto width = static_cast<int64_t>(size_of(to.dtype()));
  const int64_t rows = to.size(0), columns = to.size(1), part_columns = parts.size(2);
  for (int64_t p = 0; p < parts.size(0); ++p) {
    const int64_t first = p * part_columns, n = std::min(part_columns, columns - first);
    for (int64_t r = 0; r < rows && n > 0; ++r) {
      std::memcpy(to.device_raw() + (r * columns + first) * width,
                  parts.device_raw() + (p * rows + r) * part_columns * width, static_cast<size_t>(n * width));
    }
  }
}

template <>
void CpuBackend::run(const AddRow& args) {
  const auto& [row, y] = args;
  with_float_type(y.dtype(), [&]<class T>() {
    with_float_type(row.dtype(), [&]<class R>() {
      using Acc = Accumulator<T>;
      const int64_t columns = y.columns();
      const R* addend = row.device_data<R>();
      T* to = y.device_data<T>();
      parallel_for(threads_, y.rows(), kElementGrain / std::max<int64_t>(columns, 1) + 1,
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
