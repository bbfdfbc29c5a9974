// SPDX-License-Identifier: Apache-2.0
// Checks collectives of any communicator, on tensors of any device, against sums that are computed here.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"
#include "parallel/local/dry_communicator.h"
#include "parallel/mesh.h"
#include "parallel/rank_order_sums.h"

namespace weft::test {

// The value of element i on rank `rank`: small whole numbers, exact in every dtype and in any order of a sum.
inline double value(int rank, int64_t i) { return static_cast<double>((rank * 7 + i * 3) % 23 - 11); }

// Calls f.template operator()<T>() with the host's type of the dtype.
template <class F>
auto with_host_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::BF16:
      return f.template operator()<BFloat16>();
    case DType::I32:
      return f.template operator()<int32_t>();
    case DType::I64:
      return f.template operator()<int64_t>();
  }
  throw InternalError("no such dtype");
}

inline void put(Context& context, const Tensor& t, const std::function<double(int64_t)>& element) {
  with_host_type(t.dtype(), [&]<class T>() {
    std::vector<T> values(static_cast<size_t>(t.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = element(static_cast<int64_t>(i));
      if constexpr (std::is_same_v<T, BFloat16>) {
        values[i] = BFloat16(static_cast<float>(x));
      } else {
        values[i] = static_cast<T>(x);
      }
    }
    upload(context, std::span<const T>(values), t);
  });
}

inline std::vector<double> get(Context& context, const Tensor& t) {
  return with_host_type(t.dtype(), [&]<class T>() {
    std::vector<T> values(static_cast<size_t>(t.elements()));
    download(context, t, std::span<T>(values));
    std::vector<double> found;
    for (const T& x : values) {
      if constexpr (std::is_same_v<T, BFloat16>) {
        found.push_back(static_cast<float>(x));
      } else {
        found.push_back(static_cast<double>(x));
      }
    }
    return found;
  });
}

inline Tensor filled(Context& context, int64_t elements, DType dtype, int rank) {
  const Tensor t = context.empty({elements}, dtype);
  put(context, t, [rank](int64_t i) { return value(rank, i); });
  return t;
}

inline double sum_of(int ranks, int64_t i) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r) sum += value(r, i);
  return sum;
}

inline double largest_of(int ranks, int64_t i) {
  double most = value(0, i);
  for (int r = 1; r < ranks; ++r) most = std::max(most, value(r, i));
  return most;
}

inline void expect(Context& context, const Tensor& t, const std::function<double(int64_t)>& wanted,
                   const std::string& what) {
  const std::vector<double> found = get(context, t);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], wanted(static_cast<int64_t>(i))) << what << ", element " << i;
  }
}

inline std::string label(const Communicator& c, const char* what, DType dtype, int64_t elements) {
  return fmt::format("{} over {} (rank {} of {}), {} of {}", what, name(c.axis()), c.rank(), c.size(), elements,
                     name(dtype));
}

inline void check_reductions(Context& context, Communicator& c, DType dtype, int64_t elements) {
  const int n = c.size(), me = c.rank();
  const Tensor sum = filled(context, elements, dtype, me), most = filled(context, elements, dtype, me);
  c.all_reduce(sum);
  c.all_reduce(most, ReduceOp::Max);
  expect(
      context, sum, [&](int64_t i) { return sum_of(n, i); }, label(c, "sum", dtype, elements));
  expect(
      context, most, [&](int64_t i) { return largest_of(n, i); }, label(c, "max", dtype, elements));

  const Tensor whole = filled(context, elements * n, dtype, me), mine = context.empty({elements}, dtype);
  c.reduce_scatter(whole, mine);
  expect(
      context, mine, [&](int64_t i) { return sum_of(n, me * elements + i); }, label(c, "scatter", dtype, elements));
}

inline void check_copies(Context& context, Communicator& c, DType dtype, int64_t elements) {
  const int n = c.size(), me = c.rank();
  const auto wanted = [&](int64_t i) { return value(static_cast<int>(i / elements), i % elements); };
  const Tensor gathered = filled(context, elements * n, dtype, n + 1);
  c.all_gather(filled(context, elements, dtype, me), gathered);
  expect(context, gathered, wanted, label(c, "gather", dtype, elements));

  const Tensor in_place = filled(context, elements * n, dtype, n + 1);
  const Tensor own = in_place.flat(me * elements, Shape{elements});
  put(context, own, [me](int64_t i) { return value(me, i); });
  c.all_gather(own, in_place);
  expect(context, in_place, wanted, label(c, "gather in place", dtype, elements));

  const Tensor sent = context.empty({elements * n}, dtype), received = filled(context, elements * n, dtype, n + 1);
  put(context, sent, [&](int64_t i) { return value(me + static_cast<int>(i / elements), i % elements); });
  c.all_to_all(sent, received);
  expect(
      context, received, [&](int64_t i) { return value(static_cast<int>(i / elements) + me, i % elements); },
      label(c, "all to all", dtype, elements));

  for (int root = 0; root < n; ++root) {
    const Tensor sent = filled(context, elements, dtype, me);
    c.broadcast(sent, root);
    expect(
        context, sent, [&](int64_t i) { return value(root, i); }, label(c, "broadcast", dtype, elements));
  }
}

// bf16 numbers of either sign and of very different sizes. Every fourth sum is 1 + 2^-24 - 1: 0 in rank order, and
// 2^-24 in the reverse order.
inline float uneven(int rank, int64_t i) {
  if (i % 4 == 0) return rank < 3 ? std::array{1.0f, 0x1p-24f, -1.0f}[static_cast<size_t>(rank)] : 0.0f;
  const uint32_t bits = static_cast<uint32_t>(i * 8 + rank + 1) * 2654435761u;
  const float size = 1.0f + static_cast<float>(bits >> 25) / 128;
  const int exponent = std::array{0, 0, -8, -9, -26}[(bits >> 8) % 5];
  return std::ldexp((bits >> 16) % 2 ? size : -size, exponent);
}

struct Bf16Sums {
  std::vector<float> right;             // the sum in rank order, rounded once
  int backwards = 0, step_by_step = 0;  // elements that differ in reverse order, or if rounded after each addition
};
inline Bf16Sums bf16_sums(int ranks, int64_t first, int64_t elements) {
  const auto rounded = [](float x) { return static_cast<float>(BFloat16(x)); };
  Bf16Sums sums;
  for (int64_t i = first; i < first + elements; ++i) {
    float right = uneven(0, i), backwards = uneven(ranks - 1, i), step_by_step = right;
    for (int r = 1; r < ranks; ++r) {
      right += uneven(r, i), backwards += uneven(ranks - 1 - r, i);
      step_by_step = rounded(step_by_step + uneven(r, i));
    }
    sums.right.push_back(rounded(right));
    sums.backwards += rounded(backwards) != rounded(right);
    sums.step_by_step += step_by_step != rounded(right);
  }
  return sums;
}

// Sums of bf16 in 2 bytes, of numbers of elements that the ranks divide and of others.
inline void check_bf16_sums(Context& context, Communicator& c) {
  const auto uneven_elements = [&](int64_t elements) {
    const Tensor t = context.empty({elements}, DType::BF16);
    put(context, t, [&](int64_t i) { return uneven(c.rank(), i); });
    return t;
  };
  for (const int64_t elements : {1, 7, 12, 129, 4800}) {
    const Tensor whole = uneven_elements(elements);
    all_reduce_bf16(context, c, whole);
    const Bf16Sums sums = bf16_sums(c.size(), 0, elements);
    const auto at = [](const Bf16Sums& of) {
      return [&of](int64_t i) { return static_cast<double>(of.right[static_cast<size_t>(i)]); };
    };
    expect(context, whole, at(sums), label(c, "sum", DType::BF16, elements));
    if (elements > 1000 && c.size() > 2) {
      EXPECT_GT(sums.backwards, 0) << "the order of the sum cannot be told apart";
      EXPECT_GT(sums.step_by_step, 0) << "how often it is rounded cannot be told apart";
    }
    const Tensor mine = context.empty({elements}, DType::BF16);
    reduce_scatter_bf16(context, c, uneven_elements(elements * c.size()), mine);
    const Bf16Sums part = bf16_sums(c.size(), elements * c.rank(), elements);
    expect(context, mine, at(part), label(c, "scatter", DType::BF16, elements));
  }
}

// fp32 numbers that bf16 cannot hold.
inline float unrounded(int rank, int64_t i) { return uneven(rank, i) * 1.005859375f; }

// The sum of element i of all ranks, each rounded to bf16, in fp32 and in rank order.
inline float rounded_sum(int ranks, int64_t i) {
  float sum = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto part = static_cast<float>(BFloat16(unrounded(r, i)));
    sum = r == 0 ? part : sum + part;
  }
  return sum;
}

// Sums of fp32 tensors that are exchanged in bf16 have the bits of the composed formula.
inline void check_rounded_sums(Context& context, Communicator& c) {
  for (const int64_t elements : {1, 7, 12, 129, 4800}) {
    const int64_t share = (elements + c.size() - 1) / c.size();
    const auto make = [&] {
      const Tensor in = context.empty({elements}, DType::F32);
      put(context, in, [&](int64_t i) { return unrounded(c.rank(), i); });
      RoundedSum sum(context, c, in, {"gradient bucket", 0});
      fill(context, in, -1);  // it is free
      return sum;
    };
    RoundedSum scatter = make(), reduce = make();
    const Tensor mine = context.empty({share}, DType::F32), all = context.empty({elements}, DType::F32);
    reduce.gather();
    scatter.add(mine);
    reduce.finish(all);
    expect(
        context, mine,
        [&](int64_t i) {
          const int64_t at = share * c.rank() + i;
          return at < elements ? rounded_sum(c.size(), at) : 0;
        },
        label(c, "scatter of rounded", DType::F32, elements));
    expect(
        context, all, [&](int64_t i) { return static_cast<float>(BFloat16(rounded_sum(c.size(), i))); },
        label(c, "sum of rounded", DType::F32, elements));
  }
}

inline void check_all(Context& context, Communicator& c) {
  for (const int64_t elements : {0, 1, 7, 129, 5000}) {
    for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64}) {
      check_reductions(context, c, dtype, elements);
    }
    for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64, DType::BF16}) {
      check_copies(context, c, dtype, elements);
    }
  }
  check_bf16_sums(context, c);
  check_rounded_sums(context, c);
  c.barrier();
}

// Several kinds of collectives are under way at once, and are waited for in another order than they began.
inline void check_overlap(Context& context, const Mesh& mesh) {
  Communicator& c = mesh.dp();
  const int n = c.size(), me = c.rank();
  for (int round = 0; round < 5; ++round) {
    std::vector<Tensor> sums;
    std::vector<std::unique_ptr<CollectiveWork>> pending;
    for (int64_t k = 0; k < 8; ++k) {
      sums.push_back(filled(context, 1 + 4000 * k, DType::F32, me));
      pending.push_back(c.start_all_reduce(sums.back(), ReduceOp::Sum));
      c.progress();
    }
    const Tensor whole = filled(context, 100 * n, DType::F64, me), mine = context.empty({100}, DType::F64);
    const Tensor gathered = context.empty({100 * n}, DType::F64);
    auto scatter = c.start_reduce_scatter(whole, mine);
    auto gather = c.start_all_gather(filled(context, 100, DType::F64, me), gathered);
    double control = 1;
    control = mesh.world().all_reduce_host(control, ReduceOp::Sum);  // on another axis meanwhile
    EXPECT_EQ(control, n);
    while (!pending.back()->done()) c.progress();
    gather->wait(), scatter->wait();
    while (!pending.empty()) pending.back()->wait(), pending.pop_back();
    for (size_t k = 0; k < sums.size(); ++k) {
      expect(
          context, sums[k], [&](int64_t i) { return sum_of(n, i); }, fmt::format("bucket {}", k));
    }
    expect(
        context, mine, [&](int64_t i) { return sum_of(n, me * 100 + i); }, "scatter");
    expect(
        context, gathered, [&](int64_t i) { return value(static_cast<int>(i / 100), i % 100); }, "gather");
  }
}

// bf16 sums, sizes that do not fit and roots that do not exist are refused before a library receives them.
inline void check_refusals(Context& context, Communicator& c) {
  EXPECT_THROW(c.all_reduce(context.zeros({2}, DType::BF16)), InternalError);
  EXPECT_THROW(c.broadcast(context.zeros({2}, DType::F32), c.size()), InternalError);
  const Tensor parts = context.zeros({2 * c.size()}, DType::F32);
  EXPECT_THROW(c.all_to_all(parts, context.zeros({2 * c.size() + 1}, DType::F32)), InternalError);
  EXPECT_THROW(c.all_to_all(parts, parts), InternalError);
  try {
    c.all_gather(context.zeros({2}, DType::F32), context.zeros({2 * c.size() + 1}, DType::F32));
    FAIL();
  } catch (const InternalError& error) {
    const std::string who = fmt::format("all_gather over dp (rank {} of {})", c.rank(), c.size());
    EXPECT_NE(std::string(error.what()).find(who), std::string::npos) << error.what();
  }
}

// The traffic that a plan predicts must equal that of a run.
inline void check_counts(Context& context, const Mesh& real, const MeshLayout& layout) {
  Context meta({.kind = DeviceKind::Meta});
  const Mesh dry = dry_mesh(layout, meta, real.world().rank());
  for (const Mesh* mesh : {&real, &dry}) {
    Context& c = mesh == &real ? context : meta;
    mesh->dp().all_reduce(c.zeros({1000}, DType::F32));
    mesh->dp().all_gather(c.zeros({10}, DType::BF16), c.zeros({10 * layout.dp}, DType::BF16));
    mesh->dp().all_to_all(c.zeros({10 * layout.dp}, DType::BF16), c.zeros({10 * layout.dp}, DType::BF16));
    all_reduce_bf16(c, mesh->dp(), c.zeros({1000}, DType::BF16));
    mesh->tp().reduce_scatter(c.zeros({10 * layout.tp}, DType::F32), c.zeros({10}, DType::F32));
  }
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    EXPECT_EQ(real.dp().traffic()[collective].calls, dry.dp().traffic()[collective].calls);
    EXPECT_EQ(real.dp().traffic()[collective].moved, dry.dp().traffic()[collective].moved);
    EXPECT_EQ(real.tp().traffic()[collective].bytes, dry.tp().traffic()[collective].bytes);
  }
}

}  // namespace weft::test
