// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

// What the libraries that are preloaded into ranks (LD_PRELOAD) have in common.
namespace weft::test {

// The function of this name that would be called without the library.
template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

inline std::string text_of(const char* variable) {
  const char* text = getenv(variable);
  return text ? text : "";
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline std::string path_of(int descriptor) {
  std::array<char, 4096> target{};
  const ssize_t size =
      readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), target.data(), target.size() - 1);
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

inline std::string path_at(int folder, const char* path) {
  return folder == AT_FDCWD || path[0] == '/' ? path : path_of(folder) + "/" + path;
}

inline mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace weft::test

// Defines a function of the family of open(2) that calls opened(folder, path, flags, mode).
#define WEFT_OPENS(name, folder, ...)              \
  int name(__VA_ARGS__, int flags, ...) {          \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    return opened(folder, path, flags, mode);      \
  }
