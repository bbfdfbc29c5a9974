// SPDX-License-Identifier: Apache-2.0
#include "base/process/new_thread.h"

#include <fmt/core.h>

#include "base/error.h"

namespace weft {

void throw_no_thread(const std::system_error& error) {
  throw Error(ExitCode::Hardware, fmt::format("this node gives no further thread: {}", error.code().message()),
              "see `ulimit -u` and pids.max of the control group; the same command may well work later");
}

}  // namespace weft
