// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// A valid text decodes and encodes to itself: in any other text some part becomes U+FFFD.
bool comes_back(const std::string& text) { return encode_utf8(decode_utf8(text)) == text; }

// Every first byte, followed by bytes at every border of a later byte's range; at the end of a text and before more.
TEST(Utf8, IsValidWhereDecodingLosesNothing) {
  const std::string borders = std::string("\0A", 2) + "\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xe1\xf0\xff";
  int valid = 0;
  for (int first = 0; first < 256; ++first) {
    for (const char second : borders) {
      for (const char third : borders) {
        for (const char fourth : borders) {
          const std::string text = {static_cast<char>(first), second, third, fourth};
          for (const char* rest : {"", "eight or more bytes"}) {
            ASSERT_EQ(is_utf8(text + rest), comes_back(text + rest)) << testing::PrintToString(text + rest);
          }
          valid += is_utf8(text);
        }
      }
    }
  }
  EXPECT_GT(valid, 1000);
}

TEST(Utf8, OneWrongByteAnywhereIsFound) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "plain text, \u00e9t\u00e9, \u4e2d\u6587, \U0001f600 ";
  EXPECT_TRUE(is_utf8(text));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = '\xff';
    EXPECT_FALSE(is_utf8(wrong)) << i;
  }
  for (size_t n = 0; n < text.size(); ++n) EXPECT_EQ(is_utf8(text.substr(0, n)), comes_back(text.substr(0, n))) << n;
}

}  // namespace
}  // namespace weft
