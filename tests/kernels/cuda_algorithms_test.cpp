// SPDX-License-Identifier: Apache-2.0
// Matrix products on a CUDA device choose their algorithms: the engine measures and keeps them, and another engine
// adopts them. Each algorithm of the simulated device has its own time and its own order of sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "kernels/cuda/products/algorithm_table.h"
#include "kernels/cuda/products/fastest.h"
#include "kernels/cuda/products/matmul.h"
#include "kernels/cuda/runtime/devices.h"
#include "simulator/runtime/simulator.h"
#include "tests/kernels/fixture/products.h"
#include "tests/support/cuda_devices.h"

namespace weft::cuda {
namespace {

using cuda_device::simulator;
using testing::HasSubstr;

constexpr ProductOptions kMeasured{.algorithms = AlgorithmChoice::Measured};

class Algorithms : public testing::Test {
 protected:
  Algorithms() { engine.set_options(kMeasured); }
  void SetUp() override {
    if (const std::string lacks = test::lacks_simulation(); !lacks.empty()) GTEST_SKIP() << lacks;
  }

  // The time that work takes in the stream, by the simulator's clock: each product takes more than 5 us.
  double microseconds(const std::function<void()>& work) const {
    Event before(0, Event::Kind::Time), after(0, Event::Kind::Time);
    stream.record(before);
    work();
    stream.record(after);
    after.wait();
    return 1000 * after.milliseconds_since(before);
  }
  static std::vector<nlohmann::json> products(const std::string& text) {
    return nlohmann::json::parse(text).at("table").at("products");
  }
  static std::string changed(const std::string& text, const std::string& from, const std::string& to) {
    std::string other = text;
    const size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? other : other.replace(at, from.size(), to);
  }
  std::string refusal(const std::string& text) {
    try {
      engine.take_tuned(text, "some/file");
    } catch (const DataError& error) {
      return error.what();
    }
    return "taken";
  }

  AlgorithmTable empty_table() const { return {device_name(0), engine.library()}; }

  // The shape of Trial(32).
  static constexpr ProductKey kKey{
      .m = 64, .n = 32, .k = 256, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .alignment = {256, 256, 128, 256, 256}};
  Stream stream{0};
  MatmulEngine engine{stream};
};

TEST_F(Algorithms, TheFastestIsTakenAndNotTheFirst) {
  int slower = 0;
  for (int64_t columns = 8; columns <= 64; columns += 8) {
    const Trial trial(32, columns);
    MatmulEngine first(stream);
    trial.run(engine), trial.run(first);
    const double taken = microseconds([&] { engine.run(trial.gemm()); });
    const double of_first = microseconds([&] { first.run(trial.gemm()); });
    // The simulated times of a shape's algorithms are 1, 1.1, 1.2 and 1.3 times its work, plus 5 us for each launch.
    const double least = 5 + 2e-6 * static_cast<double>(trial.m * trial.n * trial.k);
    EXPECT_NEAR(taken, least, 1e-3) << columns;
    slower += of_first > least + 1e-3;
  }
  EXPECT_GT(slower, 0);
}

TEST_F(Algorithms, EachShapeIsMeasuredOnceForAllRowsOfAStep) {
  const Trial one(32), near(64), next(65);
  const double measuring = microseconds([&] { engine.run(one.gemm()); });
  EXPECT_LT(microseconds([&] { engine.run(one.gemm()); }), measuring / 10);
  EXPECT_LT(microseconds([&] { engine.run(near.gemm()); }), measuring / 10);
  EXPECT_EQ(products(engine.tuned()).size(), 1u);
  EXPECT_GT(microseconds([&] { engine.run(next.gemm()); }), measuring);
  EXPECT_EQ(products(engine.tuned()).size(), 2u);
}

// A weight's gradient sums over rows; adding to it is another shape of product than overwriting it.
TEST_F(Algorithms, RowsThatAreSummedOverAreCountedInStepsToo) {
  const Trial some(32, 32, 100), more(32, 32, 120);
  for (const Trial* trial : {&some, &more}) {
    FusedGemm gemm = trial->gemm();
    gemm.transpose_a = true;
    engine.run(gemm);
    EXPECT_EQ(products(engine.tuned()).size(), 1u);
  }
  FusedGemm adding = some.gemm();
  adding.transpose_a = adding.add = true;
  engine.run(adding);
  EXPECT_EQ(products(engine.tuned()).size(), 2u);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Algorithms, MeasuringLeavesResultsAsTheyWere) {
  for (const bool add : {false, true}) {
    for (const FusedGelu gelu : {FusedGelu::None, FusedGelu::Forward, FusedGelu::Gradient}) {
      if (add && gelu != FusedGelu::None) continue;
      const Trial cold(32), warm(32);
      FusedGemm gemms[] = {cold.gemm(), warm.gemm()};
      for (FusedGemm& gemm : gemms) gemm.add = add, gemm.gelu = gelu;
      gemms[0].saved = cold.saved.get() + cold.n, gemms[1].saved = warm.saved.get() + warm.n;
      const std::vector<float> measured = cold.run(engine, gemms[0]);
      EXPECT_EQ(measured, warm.run(engine, gemms[1]));
      EXPECT_EQ(cold.saved.values(), warm.saved.values());
      const auto untouched = [&](size_t from) {
        return std::all_of(measured.begin() + from, measured.begin() + from + cold.n, [](float v) { return v == 1; });
      };
      EXPECT_TRUE(untouched(0) && untouched(measured.size() - static_cast<size_t>(cold.n)));
    }
  }
}

TEST_F(Algorithms, AWarmProductAllocatesNothing) {
  const auto next_allocation = [] {
    const OnDevice<float> mark(std::vector<float>(1));
    return simulator().memory.find(reinterpret_cast<uint64_t>(mark.get()))->number;
  };
  const Trial trial(32);
  const size_t used = simulator().memory.used(0);
  const int before = next_allocation();
  trial.run(engine);
  const int cold = next_allocation();
  EXPECT_GT(cold, before + 1);
  EXPECT_EQ(simulator().memory.used(0), used);
  trial.run(engine);
  EXPECT_EQ(next_allocation(), cold + 1);
}

TEST_F(Algorithms, AnotherEngineTakesOverWhatWasMeasured) {
  const Trial trial(32), other(32, 48);
  const std::vector<float> expected = trial.run(engine);
  MatmulEngine heir(stream);
  heir.set_options(kMeasured);
  EXPECT_NE(heir.choices(), engine.choices());
  heir.take_tuned(engine.tuned(), "some/file");
  EXPECT_EQ(heir.choices(), engine.choices());
  EXPECT_EQ(heir.tuned(), engine.tuned());
  const double once = microseconds([&] { engine.run(trial.gemm()); });
  EXPECT_EQ(microseconds([&] { heir.run(trial.gemm()); }), once);
  EXPECT_EQ(trial.c.values(), expected);
  // An engine keeps its own measurements and adopts the others.
  other.run(engine), heir.take_tuned(engine.tuned(), "some/file");
  EXPECT_EQ(products(heir.tuned()).size(), 2u);
}

// Makes each algorithm the fastest one once: each gives different bits.
TEST_F(Algorithms, WhatIsTakenOverIsWhatRuns) {
  const Trial trial(32);
  const std::vector<float> fastest = trial.run(engine);
  AlgorithmTable measured = empty_table();
  ASSERT_EQ(measured.take(engine.tuned(), "some/file"), "");
  ASSERT_NE(measured.find(kKey), nullptr);
  int same = 0;
  for (uint64_t id = 0; id < 4; ++id) {
    cublasLtMatmulAlgo_t algorithm{};
    algorithm.data[0] = id;
    AlgorithmTable table = empty_table();
    table.keep(kKey, {algorithm});
    MatmulEngine heir(stream);
    heir.set_options(kMeasured);
    heir.take_tuned(table.text(), "some/file");
    same += trial.run(heir) == fastest;
    EXPECT_EQ(heir.tuned(), table.text()) << id;
  }
  EXPECT_EQ(same, 1);
}

TEST_F(Algorithms, TablesOfAnotherDeviceOrLibraryAreNotTaken) {
  using Of = std::pair<std::string, std::string>;
  for (const auto& [device, library] :
       {Of{"NVIDIA A100, sm_80", engine.library()}, Of{device_name(0), "cuBLASLt 12.9.0"}}) {
    AlgorithmTable foreign(device, library);
    foreign.keep(kKey, {});
    testing::internal::CaptureStderr();
    engine.take_tuned(foreign.text(), "some/file");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(HasSubstr("some/file"), HasSubstr("measured again"), HasSubstr(device)));
    EXPECT_EQ(engine.tuned(), "");
    EXPECT_THAT(empty_table().take(foreign.text(), "some/file"), testing::AllOf(HasSubstr(device), HasSubstr(library)));
  }
}

TEST_F(Algorithms, DamagedTablesAreRefusedAndChangeNothing) {
  const Trial trial(32);
  trial.run(engine);
  const std::string text = engine.tuned();
  EXPECT_EQ(refusal(text), "taken");
  EXPECT_THAT(refusal(""), HasSubstr("some/file"));
  EXPECT_THAT(refusal("{"), HasSubstr("some/file"));
  EXPECT_THAT(refusal("[]"), HasSubstr("some/file: not a table of algorithms"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("some/file"));
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("some/file"));
  EXPECT_THAT(refusal(changed(text, "\"version\": 2", "\"version\": 3")),
              HasSubstr("this build reads versions 1 to 2"));
  EXPECT_THAT(refusal(changed(text, "\"n\": 32", "\"n\": 40")), HasSubstr("the checksum does not match"));
  // A text with a valid checksum but no valid algorithm is refused too.
  const auto resealed = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json file = nlohmann::json::parse(text);
    change(file.at("table").at("products").at(0));
    file["checksum"] = hash_hex(hash64(file.at("table").dump()));
    return refusal(file.dump());
  };
  EXPECT_EQ(resealed([](auto&) {}), "taken");
  EXPECT_THAT(resealed([](auto& product) { product["way"] = "apart"; }), HasSubstr("without an epilogue"));
  EXPECT_THAT(resealed([](auto& product) { product["way"] = "other"; }), HasSubstr("'other'"));
  EXPECT_THAT(resealed([](auto& product) { product["algorithm"] = "00ff"; }), HasSubstr("an algorithm of 4 digits"));
  EXPECT_THAT(resealed([](auto& product) { product["algorithm"] = std::string(128, 'x'); }), HasSubstr("hexadecimal"));
  EXPECT_THAT(resealed([](auto& product) { product["input"] = "f64"; }), HasSubstr("a product of f64"));
  EXPECT_THAT(resealed([](auto& product) { product.erase("m"); }), HasSubstr("not a table of algorithms"));
  EXPECT_THAT(resealed([](auto& product) { product["alignment"] = {1, 2}; }), HasSubstr("not a table of algorithms"));
  EXPECT_EQ(engine.tuned(), text);
}

// Where a bias lies decides what the library offers, so products with other biases have their own algorithms.
TEST_F(Algorithms, ABiasThatLiesElsewhereIsAnotherProduct) {
  const Trial trial(32);
  const OnDevice<float> bias(std::vector<float>(40));
  FusedGemm gemm = trial.gemm();
  for (const int shift : {0, 1, 4}) {
    gemm.bias = bias.get() + shift;
    engine.run(gemm);
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::set<std::vector<int64_t>> alignments;
  for (const auto& product : products(engine.tuned())) alignments.insert(product.at("alignment"));
  EXPECT_THAT(alignments,
              testing::ElementsAre(std::vector<int64_t>{256, 256, 128}, std::vector<int64_t>{256, 256, 128, 4, 256},
                                   std::vector<int64_t>{256, 256, 128, 16, 256}));
  MatmulEngine heir(stream);
  heir.set_options(kMeasured);
  heir.take_tuned(engine.tuned(), "some/file");
  EXPECT_EQ(heir.tuned(), engine.tuned());
}

TEST_F(Algorithms, TablesOfTheVersionBeforeAreTaken) {
  const Trial trial(32);
  trial.run(engine);
  MatmulEngine heir(stream);
  heir.set_options(kMeasured);
  heir.take_tuned(changed(engine.tuned(), "\"version\": 2", "\"version\": 1"), "some/file");
  EXPECT_EQ(heir.choices(), engine.choices());
}

// The library's first algorithm replaces one that it does not know, or that does not take these rows.
TEST_F(Algorithms, WhatTheLibraryRefusesDoesNotRun) {
  const Trial trial(32);
  MatmulEngine first(stream);
  AlgorithmTable table = empty_table();
  cublasLtMatmulAlgo_t unknown{};
  unknown.data[0] = 0xdeadbeef;
  table.keep(kKey, {unknown});
  engine.take_tuned(table.text(), "some/file");
  EXPECT_EQ(trial.run(engine), trial.run(first));
  EXPECT_EQ(engine.tuned(), table.text());
}

// Without a table, the algorithm may not depend on the number of rows that comes first. The library's first algorithm
// for few rows needs more workspace for many rows than there is.
TEST_F(Algorithms, TheFirstDoesNotDependOnWhatCameBefore) {
  const Trial few(20, 81920, 16), many(60, 81920, 16);
  MatmulEngine one(stream), other(stream);
  const std::vector<float> expected = few.run(one);
  many.run(other);
  EXPECT_EQ(few.run(other), expected);
}

TEST_F(Algorithms, WithoutMemoryForAResultNothingIsMeasured) {
  const std::vector<Candidate> two(2);
  EXPECT_FALSE(fastest(stream, {{.m = 1 << 20, .n = 1 << 20, .k = 1}}, two).has_value());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Algorithms, Tf32AppliesToFp32OnlyAndIfAskedFor) {
  const OnDevice<float> fine({1 + 1.f / 4096}), one({1}), result({0});
  const OnDevice<uint16_t> half({0x3f80});
  const auto product = [&](DType input, const void* a, const void* b) {
    engine.run({{.m = 1, .n = 1, .k = 1, .input = input, .a = a, .b = b, .c = result.get()}});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return result.values()[0];
  };
  EXPECT_EQ(product(DType::F32, fine.get(), one.get()), 1 + 1.f / 4096);
  engine.set_options({.algorithms = AlgorithmChoice::Measured, .tf32 = true});
  EXPECT_EQ(product(DType::F32, fine.get(), one.get()), 1);
  EXPECT_EQ(products(engine.tuned()).size(), 2u);  // the two shapes have different algorithms
  EXPECT_EQ(product(DType::BF16, half.get(), half.get()), 1);
}

// If two ranks have measured a shape, both adopt the first rank's algorithm.
TEST_F(Algorithms, RanksTakeWhatTheFirstRankHasFound) {
  const auto times = [](const char* number) { setenv("WEFT_CUDA_DEVICE_TIMES", number, 1); };
  const Trial both(32), one(32, 48), other(32, 64);
  MatmulEngine second(stream);
  second.set_options(kMeasured);
  both.run(engine), one.run(engine);
  times("1"), both.run(second), other.run(second), times("0");
  const std::vector<std::string> texts{engine.newly_tuned(), second.newly_tuned()};
  ASSERT_NE(products(texts[0])[0], products(texts[1])[0]);
  EXPECT_EQ(engine.agree_tuned(texts), 0);
  EXPECT_EQ(second.agree_tuned(texts), 0);
  EXPECT_EQ(engine.choices(), second.choices());
  EXPECT_THAT(engine.choices(), testing::StartsWith("measured: 3 products"));
  EXPECT_EQ(products(second.tuned())[0], products(texts[0])[0]);
  EXPECT_EQ(both.run(second), both.run(engine));
  EXPECT_EQ(engine.newly_tuned(), "");
  // Agreed algorithms stay when more shapes are measured.
  const Trial third(32, 80);
  third.run(engine);
  EXPECT_EQ(products(engine.newly_tuned()).size(), 1u);
  const std::vector<std::string> more{engine.newly_tuned(), second.newly_tuned()};
  engine.agree_tuned(more), second.agree_tuned(more);
  EXPECT_EQ(engine.tuned(), second.tuned());
  EXPECT_EQ(products(engine.tuned()).size(), 4u);
}

TEST_F(Algorithms, RanksOnAnotherKindOfDeviceHaveTheirOwn) {
  const Trial trial(32);
  trial.run(engine);
  const std::string before = engine.tuned();
  AlgorithmTable foreign("another device", engine.library());
  foreign.keep({.m = 64, .n = 8, .k = 8}, {});
  EXPECT_EQ(engine.agree_tuned(std::vector<std::string>{foreign.new_text(), engine.newly_tuned(), ""}), 1);
  EXPECT_EQ(engine.tuned(), before);
}

TEST_F(Algorithms, TheFirstChoiceLeavesNothingToAgreeOn) {
  engine.set_options({});
  Trial(32).run(engine);
  EXPECT_EQ(engine.newly_tuned(), "");
}

}  // namespace
}  // namespace weft::cuda
