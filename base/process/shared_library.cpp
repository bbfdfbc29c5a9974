// SPDX-License-Identifier: Apache-2.0
#include "base/process/shared_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace weft {

SharedLibrary::SharedLibrary(const char* file, const char* problem, const char* hint)
    : file_(file), hint_(hint), library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) throw DeviceError(fmt::format("{}: {}", problem, dlerror()), hint_);
}

void* SharedLibrary::address(const char* name) const {
  void* const found = dlsym(library_, name);
  if (!found) throw DeviceError(fmt::format("{} has no {}: it is of another version", file_, name), hint_);
  return found;
}

}  // namespace weft
