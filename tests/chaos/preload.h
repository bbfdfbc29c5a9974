// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

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

// What stands between colons.
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ':') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

inline std::string path_of(int descriptor) {
  std::array<char, 4096> target{};
  const ssize_t size =
      readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), target.data(), target.size() - 1);
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

inline std::string path_at(int folder, const char* path) {
  return folder == AT_FDCWD || path[0] == '/' ? path : path_of(folder) + "/" + path;
}

// What a library with preload.cpp makes of open(2) and its family, which that defines; a path is relative to `folder`.
int opened(int folder, const char* path, int flags, mode_t mode);

}  // namespace weft::test
