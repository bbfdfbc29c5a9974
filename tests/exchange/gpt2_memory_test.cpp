// SPDX-License-Identifier: Apache-2.0
// Import and export hold one tensor at a time, not the model.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "exchange/export.h"
#include "tests/exchange/fixture/gpt2.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

int64_t peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss << 10;
}

// Eight layers of width 256: 25 MB, with 1 MB in the largest tensor. A small model is imported and exported first, so
// that the program's own pages are not counted.
struct Gpt2Memory : testing::Test {
  void SetUp() override {
    ASSERT_EQ(in_child([&] {
                Gpt2Directory directory;
                directory.write(scratch, "small");
                directory.config["n_layer"] = 8, directory.config["n_embd"] = 256, directory.config["n_head"] = 8;
                Gpt2Directory(directory.config).write(scratch, "large");
                return ChildResult::Passed;
              }),
              ChildResult::Passed);
  }
  // The growth of this process's peak memory by `body`, as a fraction of the file's size.
  static double share(const fs::path& file, const std::function<void()>& body) {
    const int64_t before = peak();
    body();
    return static_cast<double>(peak() - before) / static_cast<double>(fs::file_size(file));
  }
  Scratch scratch;
};

TEST_F(Gpt2Memory, ImportAndExportTakeLittle) {
  const fs::path file = scratch / "large" / "model.safetensors";
  EXPECT_GT(fs::file_size(file), 24u << 20);
  const auto imported = in_child([&] {
    import_hugging_face(scratch / "small", scratch / "small-in", {});
    EXPECT_LT(share(file, [&] { import_hugging_face(scratch / "large", scratch / "large-in", {}); }), 0.4);
    return ChildResult::Passed;
  });
  EXPECT_EQ(imported, ChildResult::Passed);
  const auto exported = in_child([&] {
    export_model(scratch / "small-in", scratch / "small-out", std::nullopt, {});
    EXPECT_LT(share(file, [&] { export_model(scratch / "large-in", scratch / "large-out", std::nullopt, {}); }), 0.4);
    return ChildResult::Passed;
  });
  EXPECT_EQ(exported, ChildResult::Passed);
  // The measurement works: a process that holds the whole file is noticed.
  const auto held = in_child([&] {
    EXPECT_GT(share(file, [&] { EXPECT_FALSE(read_file(file).empty()); }), 0.8);
    return ChildResult::Passed;
  });
  EXPECT_EQ(held, ChildResult::Passed);
}

}  // namespace
}  // namespace weft
