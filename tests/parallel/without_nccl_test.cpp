// SPDX-License-Identifier: Apache-2.0
// The functions that replace NCCL in a build without it (-DWEFT_NCCL=OFF), compiled and linked in every build: their
// source belongs to this test, and is linked before the library's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/nccl/communicator.h"

namespace weft {
namespace {

TEST(WithoutNccl, IsNamedAndRefusedWithWhatToDo) {
  EXPECT_THAT(describe_nccl(), testing::HasSubstr("built without it"));
  try {
    require_nccl(2);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("device: cuda on 2 ranks: this weft is built without NCCL"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("-DWEFT_NCCL=ON"));
  }
  let_nccl_share_device("a machine");
  Context context;
  EXPECT_THROW(nccl_mesh({.dp = 2}, 0, nullptr, context), InternalError);
}

}  // namespace
}  // namespace weft
