// SPDX-License-Identifier: Apache-2.0
#include "data/text/normal_form.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Forms {
  std::string text, nfc, nfd, nfkc, nfkd;
};

// From UAX #15, its figures 3 to 6, and Hangul.
TEST(NormalForm, TextsOfTheStandard) {
  const Forms all[] = {
      {"\u212b", "\u00c5", "A\u030a", "\u00c5", "A\u030a"},
      {"\u2126", "\u03a9", "\u03a9", "\u03a9", "\u03a9"},
      {"q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
      {"\ufb01", "\ufb01", "\ufb01", "fi", "fi"},
      {"2\u2075", "2\u2075", "2\u2075", "25", "25"},
      {"\u1e9b\u0323", "\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307"},
      {"\u1112\u1161\u11ab", "\ud55c", "\u1112\u1161\u11ab", "\ud55c", "\u1112\u1161\u11ab"},
      {"\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"},  // never composed
  };
  for (const Forms& forms : all) {
    EXPECT_EQ(to_normal_form(forms.text, NormalForm::Nfc), forms.nfc) << forms.text;
    EXPECT_EQ(to_normal_form(forms.text, NormalForm::Nfd), forms.nfd) << forms.text;
    EXPECT_EQ(to_normal_form(forms.text, NormalForm::Nfkc), forms.nfkc) << forms.text;
    EXPECT_EQ(to_normal_form(forms.text, NormalForm::Nfkd), forms.nfkd) << forms.text;
  }
}

TEST(NormalForm, InvalidBytesStayAndPart) {
  EXPECT_EQ(to_normal_form("", NormalForm::Nfc), "");
  EXPECT_EQ(to_normal_form("e\u0301\xff", NormalForm::Nfc), "\u00e9\xff");
  EXPECT_EQ(to_normal_form("e\xff\u0301", NormalForm::Nfc), "e\xff\u0301");
  EXPECT_EQ(to_normal_form("\xed\xa0\x80\xe2\x82", NormalForm::Nfkc), "\xed\xa0\x80\xe2\x82");
  EXPECT_EQ(to_normal_form(std::string("a\0e\u0301", 5), NormalForm::Nfc), std::string("a\0\u00e9", 4));
}

// Nothing below U+0300 changes, so that such texts are not looked at.
TEST(NormalForm, PlainTextIsNfc) {
  std::string latin;
  for (unsigned c = 1; c < 0x300; ++c) {
    if (c < 0x80)
      latin += static_cast<char>(c);
    else
      latin += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  }
  EXPECT_TRUE(is_plainly_nfc(latin));
  EXPECT_EQ(to_normal_form(latin, NormalForm::Nfc), latin);
  EXPECT_FALSE(is_plainly_nfc("e\u0301"));
  EXPECT_FALSE(is_plainly_nfc("\u4e2d"));
}

}  // namespace
}  // namespace weft
