// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// A library that is opened when a process first needs it, so that others do not pay for it. It stays open until the end
// of the process: its own threads may outlive the code that opened it.
class SharedLibrary {
 public:
  // `file` is found by the loader's rules. DeviceError, "PROBLEM: the loader's message", with `hint` if it cannot be
  // opened. All three arguments are literals.
  SharedLibrary(const char* file, const char* problem, const char* hint);

  // Sets a pointer to one of its functions. DeviceError if the library has no function of that name.
  template <class Function>
  void find(const char* name, Function& to) const {
    to = reinterpret_cast<Function>(address(name));
  }

 private:
  void* address(const char* name) const;

  const char *file_, *hint_;
  void* library_;
};

}  // namespace weft
