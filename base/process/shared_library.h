// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// A library that is opened when a process first needs it, which costs nothing where none does. It stays open to the end
// of the process: its own threads may outlive the code that opened it.
class SharedLibrary {
 public:
  // `file` is looked for as the loader looks. DeviceError, "PROBLEM: the loader's words", with `hint` if it cannot be
  // opened. All three are literals.
  SharedLibrary(const char* file, const char* problem, const char* hint);

  // Sets a pointer to one of its functions. DeviceError if it has none of that name.
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
