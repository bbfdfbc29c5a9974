// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft {

// The file of a library as the loader looks for it: "libcublasLt.so.12". `version` is that of the header that a program
// is compiled with, since structures and numbers may differ in another.
std::string shared_library_file(const std::string& name, int version);

// A library that is opened when a process first needs it, so that others do not pay for it. It stays open until the end
// of the process: its own threads may outlive the code that opened it.
class SharedLibrary {
 public:
  // `file` is found by the loader's rules. DeviceError, "PROBLEM: the loader's message", with `hint` if it cannot be
  // opened.
  SharedLibrary(std::string file, const std::string& problem, std::string hint);

  // Sets a pointer to one of its functions. DeviceError if the library has no function of that name.
  template <class Function>
  void find(const char* name, Function& to) const {
    to = reinterpret_cast<Function>(address(name));
  }

 private:
  void* address(const char* name) const;

  std::string file_, hint_;
  void* library_;
};

}  // namespace weft
