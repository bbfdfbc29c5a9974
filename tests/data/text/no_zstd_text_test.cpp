// SPDX-License-Identifier: Apache-2.0
// Compressed text in a weft that is built without zstd.
#include <gmock/gmock.h>

#include "data/text/text_input.h"
#include "tests/data/text/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

TEST(NoZstdText, TheErrorNamesZstdAndWhatToInstall) {
  const Scratch scratch;
  const std::string file = scratch.write("a.zst", kZstdText);
  EXPECT_THAT(error_of([&] { TextInput input{TextFile(file)}; }),
              testing::AllOf(testing::HasSubstr("a.zst: compressed with zstd, and this weft is built without it"),
                             testing::HasSubstr("libzstd-dev")));
}

}  // namespace
}  // namespace weft
