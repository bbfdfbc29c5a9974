// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/attention_weights.h"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.h"
#include "kernels/checks.h"
#include "kernels/formulas/band.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

std::vector<double> numbers_of(Context& context, const Tensor& t) {
  std::vector<double> numbers(static_cast<size_t>(t.elements()));
  with_float_type(t.dtype(), [&]<class T>() {
    std::vector<T> host(numbers.size());
    download(context, t, std::span<T>(host));
    std::ranges::transform(host, numbers.begin(), [](T x) { return double{static_cast<Accumulator<T>>(x)}; });
  });
  return numbers;
}

// Queries and keys of all heads in the rows of one sequence, where kernels/ops/attention.h says that they lie.
struct HostHeads {
  HostHeads(Context& context, const AttentionForward& args, int64_t sequence) {
    const AttentionHeads& h = args.heads;
    const auto rows = [&](const Tensor& t, const Offsets& offsets) {
      return numbers_of(context, t.slice(offsets.host[sequence], offsets.host[sequence + 1]));
    };
    const Tensor& of_queries = args.qkv ? args.qkv : args.q;
    queries = rows(of_queries, *args.query_offsets);
    query_row = of_queries.columns(), query_group = query_row / h.kv_heads;
    if (args.qkv) {
      keys = queries, key_row = query_row, key_group = query_group, first_key = h.queries * h.head_dim;
    } else {
      keys = rows(args.kv, *args.key_offsets);
      key_row = args.kv.columns(), key_group = key_row / h.kv_heads;
    }
  }

  std::vector<double> queries, keys;
  int64_t query_row = 0, key_row = 0;      // elements from one row to the next
  int64_t query_group = 0, key_group = 0;  // elements from one group of heads to the next
  int64_t first_key = 0;                   // where a group's key begins
};

}  // namespace

std::vector<float> attention_weights(Context& context, const AttentionForward& args, int64_t sequence) {
  const Checks check(context, "attention_weights");
  check.that(!context.meta(), "the dry device has no weights");
  check.that(sequence >= 0 && sequence < args.query_offsets->sequences(), "sequence {} of {}", sequence,
             args.query_offsets->sequences());
  const AttentionHeads& heads = args.heads;
  const int64_t width = heads.head_dim, first_row = args.query_offsets->host[sequence];
  const int64_t queries = args.query_offsets->length(sequence), keys = args.key_offsets->length(sequence);
  check.matrix("log_sum", args.log_sum, heads.heads(), args.query_offsets->rows(), accumulator_of(args.out.dtype()));
  const HostHeads host(context, args, sequence);
  const std::vector<double> log_sums = numbers_of(context, args.log_sum);
  const auto band = formulas::Band::of(args.causal, args.window);
  std::vector<float> weights(static_cast<size_t>(heads.heads() * queries * keys));
  parallel_tasks(context.threads(), heads.heads() * queries, [&](int64_t task) {
    const int64_t head = task / queries, i = task % queries, group = head / heads.queries;
    const double* q = &host.queries[i * host.query_row + group * host.query_group + head % heads.queries * width];
    const double log_sum = log_sums[head * args.query_offsets->rows() + first_row + i];
    for (int64_t j = band.first(i); j < band.end(i, keys); ++j) {
      const double* k = &host.keys[j * host.key_row + group * host.key_group + host.first_key];
      double product = 0;
      for (int64_t d = 0; d < width; ++d) product += q[d] * k[d];
      weights[task * keys + j] = static_cast<float>(std::exp(args.scale * product - log_sum));
    }
  });
  return weights;
}

}  // namespace weft
