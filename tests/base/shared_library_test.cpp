// SPDX-License-Identifier: Apache-2.0
#include "base/process/shared_library.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace weft {
namespace {

TEST(SharedLibrary, IsNamedAfterTheVersionThatTheProgramIsCompiledWith) {
  EXPECT_EQ(shared_library_file("cublasLt", 12), "libcublasLt.so.12");
  EXPECT_EQ(shared_library_file("cublasLt", 13), "libcublasLt.so.13");
}

TEST(SharedLibrary, IsOpenedAndSearchedByName) {
  const SharedLibrary libm(shared_library_file("m", 6), "cannot load the mathematics", "install libc");
  double (*root)(double) = nullptr;
  libm.find("sqrt", root);
  EXPECT_EQ(root(49), 7);
  try {
    libm.find("no_such_function", root);
    FAIL() << "found";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "libm.so.6 has no no_such_function: it is of another version");
    EXPECT_EQ(error.hint(), "install libc");
  }
}

TEST(SharedLibrary, NamesTheFileThatIsMissing) {
  try {
    const SharedLibrary missing(shared_library_file("weft_missing", 12), "cannot load it", "install it");
    FAIL() << "opened";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("cannot load it: libweft_missing.so.12: "));
    EXPECT_EQ(error.hint(), "install it");
  }
}

}  // namespace
}  // namespace weft
