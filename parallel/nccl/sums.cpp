// SPDX-License-Identifier: Apache-2.0
#include "parallel/nccl/sums.h"

#include <cstdlib>
#include <mutex>

#include "base/log.h"

namespace weft {
namespace {

constexpr int kFunctionsApart = NCCL_VERSION(2, 24, 0);  // since then each function can have its own setting

struct Pin {
  const char* variable;
  const char *sums, *everything;  // older versions apply `everything`, to gathers too
};
constexpr Pin kAlgorithm{"NCCL_ALGO", "allreduce:ring;reducescatter:ring", "Ring"};
constexpr Pin kProtocol{"NCCL_PROTO", "allreduce:simple;reducescatter:simple", "Simple"};

std::string pinned(const Pin& pin, int version) {
  setenv(pin.variable, version >= kFunctionsApart ? pin.sums : pin.everything, 0);
  return std::getenv(pin.variable);
}

}  // namespace

std::string pin_sums(const NcclLibrary& library) {
  static std::mutex mutex;  // guards the environment, since ranks may be threads
  const std::lock_guard lock(mutex);
  int version = 0;
  library.check(library.version(&version), "ncclGetVersion");
  const std::string algorithms = pinned(kAlgorithm, version), protocols = pinned(kProtocol, version);
  return fmt::format("NCCL {}.{}.{}, algorithms {}, protocols {}", version / 10000, version / 100 % 100, version % 100,
                     algorithms, protocols);
}

}  // namespace weft
