// SPDX-License-Identifier: Apache-2.0
#include "base/process/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace weft {

std::string shared_library_file(const std::string& name, int version) {
  return fmt::format("lib{}.so.{}", name, version);
}

SharedLibrary::SharedLibrary(std::string file, const std::string& problem, std::string hint)
    : file_(std::move(file)), hint_(std::move(hint)), library_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library_) throw DeviceError(fmt::format("{}: {}", problem, dlerror()), hint_);
}

void* SharedLibrary::address(const char* name) const {
  void* const found = dlsym(library_, name);
  if (!found) throw DeviceError(fmt::format("{} has no {}: it is of another version", file_, name), hint_);
  return found;
}

}  // namespace weft
