// What the fuzzer begins with, and every small damage to it, in ordinary runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "tests/fuzz/safetensors_fuzz.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

struct Seed {
  std::string name;
  std::vector<uint8_t> bytes;
};

std::vector<Seed> seeds() {
  std::vector<Seed> all;
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / "tests/fuzz/safetensors")) {
    const std::string bytes = read_file(entry.path());
    all.push_back({entry.path().filename(), {bytes.begin(), bytes.end()}});
  }
  return all;
}

TEST(SafetensorsCorpus, WholeFilesAreReadAndDamagedOnesRefused) {
  const std::vector<Seed> all = seeds();
  EXPECT_GE(std::ranges::count_if(all, [](const Seed& s) { return s.name.starts_with("whole_"); }), 6);
  EXPECT_GE(std::ranges::count_if(all, [](const Seed& s) { return s.name.starts_with("damaged_"); }), 7);
  for (const Seed& seed : all) EXPECT_EQ(reads_safetensors(seed.bytes), seed.name.starts_with("whole_")) << seed.name;
}

TEST(SafetensorsCorpus, EveryShorterFileIsRefused) {
  for (const Seed& seed : seeds()) {
    for (size_t size = 0; size < seed.bytes.size(); ++size) {
      EXPECT_FALSE(reads_safetensors(std::span(seed.bytes).first(size))) << seed.name << " cut to " << size;
    }
  }
}

// Whatever one byte becomes, the file is read or refused, and never more than that.
TEST(SafetensorsCorpus, AnyOneByteMayBeWrong) {
  size_t refused = 0;
  for (Seed seed : seeds()) {
    for (uint8_t& byte : seed.bytes) {
      const uint8_t right = byte;
      for (const int wrong : {0x00, 0x20, 0x22, 0x2c, 0x30, 0x39, 0x5b, 0x5d, 0x7b, 0x7d, 0x7f, 0xff, right ^ 1}) {
        byte = static_cast<uint8_t>(wrong);
        refused += reads_safetensors(seed.bytes) ? 0 : 1;
      }
      byte = right;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace weft
