// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/preload.h"

#include <fcntl.h>
#include <stdarg.h>

namespace {

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#define OPENS(name, folder, ...)                          \
  int name(__VA_ARGS__, int flags, ...) {                 \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    const mode_t mode = mode_of(flags, arguments);        \
    va_end(arguments);                                    \
    return weft::test::opened(folder, path, flags, mode); \
  }

extern "C" {
OPENS(open, AT_FDCWD, const char* path)
OPENS(open64, AT_FDCWD, const char* path)
OPENS(openat, folder, int folder, const char* path)
OPENS(openat64, folder, int folder, const char* path)
}
