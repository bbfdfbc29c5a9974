// SPDX-License-Identifier: Apache-2.0
// What the index of a checkpoint part may say, and what it may not.
#include "checkpoint/parts/part_index.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/hash.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

// 3 x 5 elements of a 6 x 5 tensor, all but the first two of them stored; and a whole scalar.
PartIndex small_index() {
  const Stretch weight{.name = "weight", .shape = {6, 5}, .origin = {3, 0}, .extent = {3, 5}, .begin = 2, .end = 15};
  const Stretch scalar{.name = "scale", .end = 1};
  return {.block_bytes = 32,
          .arrays = {{.buffer = "master", .stretches = {weight, scalar}, .offset = 100, .hashes = {7, 8}},
                     {.buffer = "moment1", .dtype = DType::F64, .stretches = {scalar}, .offset = 200, .hashes = {9}}}};
}

TEST(PartIndex, IsReadAsItWasWritten) {
  const std::string text = index_text(small_index());
  const PartIndex read = parse_index(text, 1000);
  EXPECT_EQ(index_text(read), text);
  ASSERT_EQ(read.arrays.size(), 2u);
  EXPECT_EQ(read.arrays[0].elements(), 14);
  EXPECT_EQ(read.arrays[0].stretches[0].begin, 2);
  EXPECT_EQ(read.arrays[0].hashes, (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(read.arrays[1].bytes(), 8u);
}

// The file reserves room for the index before the checksums are known.
TEST(PartIndex, IsAsLongWhateverTheChecksumsAre) {
  PartIndex index = small_index();
  const size_t length = index_text(index).size();
  index.arrays[0].hashes = {~uint64_t{0}, uint64_t{1} << 40};
  EXPECT_EQ(index_text(index).size(), length);
  index.arrays[0].hashes.clear();
  EXPECT_EQ(index_text(index).size(), length);
}

TEST(PartIndex, ImpossibleIndexesAreRefused) {
  const std::string right = index_text(small_index());
  const auto error_with = [&](const std::string& from, const std::string& to, uint64_t file_bytes = 1000) {
    std::string text = right;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return error_of([&] { parse_index(text.replace(at, from.size(), to), file_bytes); });
  };
  EXPECT_EQ(error_with("[6,5]", "[6,5]"), "no error");
  EXPECT_THAT(error_with("[6,5]", "[5,5]"), HasSubstr("a box of weight lies outside the tensor"));
  EXPECT_THAT(error_with("[6,5]", "[6,5,1]"), HasSubstr("ranks of weight disagree"));
  EXPECT_THAT(error_with("[6,5]", "[1099511627776,1099511627776,5]"), HasSubstr("a dimension of"));
  EXPECT_THAT(error_with("[6,5]", "[-6,5]"), HasSubstr("a dimension of -6"));
  EXPECT_THAT(error_with("[3,0]", "[-3,0]"), HasSubstr("a box of weight lies outside the tensor"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,2,16]"), HasSubstr("elements 2 to 16 of weight, which has 15"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,-1,12]"), HasSubstr("elements -1 to 12"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,9,9]"), HasSubstr("elements 9 to 9"));
  EXPECT_THAT(error_with("[0,2,15]", "[2,2,15]"), HasSubstr("a stretch of tensor 2, of 2"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,3,10]"), HasSubstr("2 checksums for 1 blocks of master"));
  EXPECT_THAT(error_with("\"offset\":100", "\"offset\":960"), HasSubstr("an array of master lies outside the file"));
  EXPECT_THAT(error_with("[6,5]", "[6,5]", 55), HasSubstr("larger than the file"));
  EXPECT_THAT(error_with("\"block_bytes\":32", "\"block_bytes\":0"), HasSubstr("blocks of 0 bytes"));
  EXPECT_THAT(error_with("\"block_bytes\":32", "\"block_bytes\":12"), HasSubstr("blocks of 12 bytes"));
  EXPECT_THAT(error_with("\"block_bytes\":32", "\"block_bytes\":1e28"), HasSubstr("1e+28 is no whole number"));
  EXPECT_THAT(error_with("[6,5]", "[6.5,5]"), HasSubstr("6.5 is no whole number"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,2,15.0]"), HasSubstr("15.0 is no whole number"));
  EXPECT_THAT(error_with("[0,2,15]", "[0,2]"), HasSubstr("out of range"));
  EXPECT_THAT(error_with("\"f32\"", "\"i32\""), HasSubstr("dtype i32"));
  EXPECT_THAT(error_with(hash_hex(7), "x" + hash_hex(7).substr(1)), HasSubstr("checksum 'x"));
  EXPECT_THAT(error_with("\"arrays\"", "\"array\""), HasSubstr("arrays"));
  EXPECT_THAT(error_with("}", ""), HasSubstr("parse error"));
}

}  // namespace
}  // namespace weft
