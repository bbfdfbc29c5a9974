// SPDX-License-Identifier: Apache-2.0
// Compressed text in a weft that is built with zstd.
#include <gmock/gmock.h>

#include "data/text/text_input.h"
#include "tests/data/text/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

class ZstdText : public testing::Test {
 protected:
  std::string text_of(const std::string& bytes) {
    const std::string path = scratch_.write("a.zst", bytes);
    TextInput input{TextFile(path)};
    std::string text;
    input.read_rest(text);
    EXPECT_EQ(input.consumed(), bytes.size());
    return text;
  }
  Scratch scratch_;
};

TEST_F(ZstdText, FramesOneAfterAnotherAreOneText) {
  const std::string skippable("\x50\x2A\x4D\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(text_of(kZstdText), "one\ntwo\n");
  EXPECT_EQ(text_of(kZstdText + skippable + kZstdText), "one\ntwo\none\ntwo\n");
  EXPECT_EQ(text_of(skippable + kZstdText), "one\ntwo\n");
}

TEST_F(ZstdText, ATextCutAnywhereIsAnError) {
  for (size_t size = 4; size < kZstdText.size(); ++size) {
    EXPECT_THAT(error_of([&] { text_of(kZstdText.substr(0, size)); }), HasSubstr("a.zst: the zstd file is truncated"))
        << size;
    EXPECT_THAT(error_of([&] { text_of(kZstdText + kZstdText.substr(0, size)); }), HasSubstr("truncated")) << size;
  }
}

TEST_F(ZstdText, ADamagedTextIsAnErrorOrTheSameText) {
  int errors = 0;
  for (size_t byte = 4; byte < kZstdText.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = kZstdText;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      std::string text;
      const std::string error = error_of([&] { text = text_of(damaged); });
      if (error == "no error") {
        EXPECT_EQ(text.substr(0, 8), "one\ntwo\n") << byte << " " << bit;
      } else {
        EXPECT_THAT(error, HasSubstr("a.zst: "));
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 8 * 12);  // at least all damage to the text and its checksum
  EXPECT_THAT(error_of([&] { text_of(kZstdText + "garbage"); }), HasSubstr("a.zst: cannot be read: the zstd file is"));
}

}  // namespace
}  // namespace weft
