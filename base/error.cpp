// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/enum_table.h"

namespace weft {

int64_t div_exact(int64_t a, int64_t b, const char* what) {
  require<InternalError>(b != 0 && a % b == 0, "{}: {} is not divisible by {}", what, a, b);
  return a / b;
}

void throw_no_value(size_t number, size_t size) {
  throw InternalError(fmt::format("{} is no value of its enum, which has {}", number, size));
}

bool is_momentary(int code) {
  constexpr std::array kCodes = {EIO,          ESTALE,       ETIMEDOUT, EREMOTEIO,   ECOMM,     ESHUTDOWN,
                                 ENOTCONN,     ENETDOWN,     EHOSTDOWN, ENETUNREACH, ENETRESET, ECONNRESET,
                                 ENODEV,       EHOSTUNREACH, ENXIO,     EMFILE,      ENFILE,    ECONNREFUSED,
                                 ECONNABORTED, ENOMEM,       EAGAIN,    ENOLCK};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

void throw_errno(const std::string& call, const std::string& path) {
  const int code = errno;
  const std::string what = fmt::format("{} {}: {}", call, path, std::strerror(code));
  if (is_momentary(code))
    throw IoError(what, "the disk, its server or this node fails; the same command may well work later");
  if (code == EACCES || code == EPERM || code == EROFS) throw AccessError(what, "check the permissions of that path");
  const bool full = code == ENOSPC || code == EDQUOT;
  throw DataError(what, full ? "free some space on that file system or choose another directory" : "");
}

std::string describe(const std::exception& error) {
  std::string text = error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error)) text = "out of memory";
  if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) {
    text += "\n  hint: " + ours->hint();
  }
  return text;
}

}  // namespace weft
