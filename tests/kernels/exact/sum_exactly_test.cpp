// SPDX-License-Identifier: Apache-2.0
// Exact sums without stored integers: to the bit those of to_fixed_point and from_fixed_point.
#include <limits>

#include "tests/kernels/fixture/fixed_point.h"

namespace weft {
namespace {

using namespace test;

// Terms of n elements, `stride` apart, the first of them at `first`.
struct TermRows {
  int64_t n, terms, stride, first;
  bool low;

  std::vector<float> term(int64_t t) const { return gradients(n, 100 + static_cast<uint64_t>(t), 90); }
  Tensor all(Context& context) const {
    std::vector<float> values(static_cast<size_t>(first + terms * stride), 7);
    for (int64_t t = 0; t < terms; ++t) std::ranges::copy(term(t), values.begin() + first + t * stride);
    return floats(context, values);
  }
};

SumExactly arguments(Context& context, const TermRows& of, const Tensor& all) {
  return {.x = all.slice(of.first, of.first + (of.terms - 1) * of.stride + of.n),
          .terms = of.terms,
          .stride = of.stride,
          .low = of.low,
          .exponent = integers(context, {kExponent}),
          .out = context.empty({of.n}, DType::F32),
          .facts = context.zeros({kFixedPointFacts}, DType::I64)};
}

std::vector<float> values_of(const Tensor& t) { return {t.span<float>().begin(), t.span<float>().end()}; }

// The sum and the facts, by way of integers.
std::vector<float> by_integers(Context& context, const std::vector<std::vector<float>>& terms, const Integers& to,
                               bool counted) {
  for (size_t t = 0; t < terms.size(); ++t) {
    to_fixed_point(context, {.x = floats(context, terms[t]),
                             .exponent = integers(context, {kExponent}),
                             .high = to.high,
                             .low = to.low,
                             .facts = to.facts,
                             .mode = t == 0 ? Accumulate::Overwrite : Accumulate::Add});
  }
  return back(context, to, kExponent, counted);
}

TEST(SumExactly, IsTheSumOfIntegersWhereverItsTermsBegin) {
  OperationContext context;
  for (const int64_t n : {1, 7, 129, 5003}) {
    for (const int64_t terms : {1, 2, 3, 8}) {
      for (const int64_t first : {0, 1, 2}) {
        for (const bool low : {false, true}) {
          const TermRows of{.n = n, .terms = terms, .stride = n + first, .first = first, .low = low};
          const SumExactly sum = arguments(context, of, of.all(context));
          sum_exactly(context, sum);
          std::vector<std::vector<float>> each;
          for (int64_t t = 0; t < terms; ++t) each.push_back(of.term(t));
          const Integers expected(context, n, low);
          EXPECT_EQ(values_of(sum.out), by_integers(context, each, expected, true)) << n << " x " << terms;
          EXPECT_TRUE(same_bits(sum.facts, expected.facts)) << n << " x " << terms;
        }
      }
    }
  }
}

TEST(SumExactly, MayBeWrittenOverItsFirstTermAndOnAnyThreads) {
  constexpr int64_t kMany = 100'003;
  for (const int64_t terms : {1, 3}) {
    const TermRows of{.n = kMany, .terms = terms, .stride = kMany, .first = 0, .low = true};
    OperationContext one({}, 1), three({}, 3);
    const SumExactly apart = arguments(one, of, of.all(one));
    sum_exactly(one, apart);
    SumExactly over = arguments(three, of, of.all(three));
    over.out = over.x.slice(0, kMany);
    sum_exactly(three, over);
    EXPECT_EQ(values_of(over.out), values_of(apart.out));
    EXPECT_TRUE(same_bits(over.facts, apart.facts));
  }
}

TEST(SumExactly, FlagsTermsAndSumsThatDoNotCount) {
  OperationContext context;
  struct Case {
    std::vector<std::vector<float>> terms;
    int64_t flags;
  };
  const float half = 0x1p7f, end = 0x1p8f;  // 2^50 and 2^51 units
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [terms, flags] :
       {Case{{{half, 1}, {1, 2}}, 0}, Case{{{1, 2}, {1, end}}, kFactOverflow},
        Case{{{half, 1}, {half, 1}}, kFactOverflow}, Case{{{1, kInfinity}, {1, 2}}, kFactNonFinite},
        Case{{{1, 2}, {-kInfinity, end}}, kFactNonFinite | kFactOverflow}}) {
    for (const bool counted : {false, true}) {
      std::vector<float> all;
      for (const auto& term : terms) all.insert(all.end(), term.begin(), term.end());
      const TermRows of{.n = 2, .terms = std::ssize(terms), .stride = 2, .first = 0, .low = true};
      SumExactly sum = arguments(context, of, floats(context, all));
      sum.counted = counted;
      sum_exactly(context, sum);
      const Integers expected(context, 2);
      EXPECT_EQ(values_of(sum.out), by_integers(context, terms, expected, counted));
      EXPECT_TRUE(same_bits(sum.facts, expected.facts));
      EXPECT_EQ(expected.fact(kFactFlags), flags);
    }
  }
}

TEST(SumExactly, MisfitsAreNamedAndDryRunsCount) {
  OperationContext context, dry(Device{DeviceKind::Meta});
  const auto make = [](Context& of) {
    return SumExactly{.x = of.empty({13}, DType::F32),
                      .terms = 3,
                      .stride = 5,
                      .exponent = of.empty({1}, DType::I32),
                      .out = of.empty({3}, DType::F32),
                      .facts = of.empty({kFixedPointFacts}, DType::I64)};
  };
  const auto error = [&](auto&& change) {
    SumExactly args = make(context);
    change(args);
    return error_of([&] { sum_exactly(context, args); });
  };
  EXPECT_EQ(error([](auto& a) { a.terms = 2; }), "sum_exactly: x is f32[13], expected 8 elements of f32");
  EXPECT_EQ(error([](auto& a) { a.stride = 2; }), "sum_exactly: 3 terms of 3 elements, 2 apart");
  EXPECT_EQ(error([](auto& a) { a.terms = kMostFixedPointTerms + 1; }),
            "sum_exactly: 4097 terms of 3 elements, 5 apart");
  EXPECT_EQ(error([](auto& a) { a.out = {}; }), "sum_exactly: out is absent");
  EXPECT_EQ(error([](auto& a) { a.exponent = a.facts; }),
            "sum_exactly: exponent is i64[4], expected 1 elements of i32");
  EXPECT_EQ(error([](auto& a) { a.facts = a.x; }), "sum_exactly: facts is f32[13], expected 4 elements of i64");
  sum_exactly(dry, make(dry));
  EXPECT_EQ(dry.ledger().entries().at("sum_exactly").bytes, (3 + 1) * 3 * 4);
}

}  // namespace
}  // namespace weft
