// SPDX-License-Identifier: Apache-2.0
#include "data/text/text_size.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

TEST(TextSize, CountsWordsAndBytesOverPieces) {
  const auto words = [](std::vector<std::string> pieces) {
    TextSize size;
    for (const std::string& piece : pieces) size.add(piece);
    return size.words();
  };
  EXPECT_EQ(words({}), 0);
  EXPECT_EQ(words({"  \n"}), 0);
  EXPECT_EQ(words({"one"}), 1);
  EXPECT_EQ(words({" one two\n\tthree\u00a0four\u3000five "}), 5);
  EXPECT_EQ(words({"\xff \xff"}), 2);
  EXPECT_EQ(words({"o", "ne t", "", "wo", " ", "three"}), 3);
  TextSize size;
  size.add("the end");
  size.end_text();
  size.add("The beginning\n");
  EXPECT_EQ(size.words(), 4);
  EXPECT_EQ(size.bytes(), 21);
}

}  // namespace
}  // namespace weft
