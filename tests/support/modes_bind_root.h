// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace weft::test {

// From here on the modes of files hold for this thread, and for those that it starts, even if root runs the test: call
// it in a child process. A mode of 000 then forbids a file's owner to read it, as it does for every other user.
inline void let_modes_bind_root() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> rights{};
  ASSERT_EQ(syscall(SYS_capget, &header, rights.data()), 0);
  for (const unsigned right : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) rights[0].effective &= ~(1U << right);
  ASSERT_EQ(syscall(SYS_capset, &header, rights.data()), 0);
}

}  // namespace weft::test
