// SPDX-License-Identifier: Apache-2.0
// The results of a program's operations, in a few lines that can be compared: two runs with different seeds must
// leave the same bits wherever a kernel, a copy or a library wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/machine/memory.h"

namespace weft::cuda_device {

class Results {
 public:
  // An empty file name: nothing is kept.
  explicit Results(std::string file) : file_(std::move(file)) {}

  // Keeps all bytes that the executing operation has written, as they are now.
  void add(const std::string& operation, const Memory& memory);

  // The program has an error: its later results may depend on the order, and are not kept.
  void discard();

  // Appends a line for each name of an operation, at once, so that several processes may share the file:
  //   COMMAND LINE <tab> OPERATION <tab> number of operations <tab> bytes written <tab> hash
  // The hash is a sum over all written pieces of 256 bytes, of the bytes and of their offsets in the piece.
  // It does not depend on the order in which operations ran, nor on the memory that an allocator with its own blocks
  // gave them, which depends on the host's timing if threads share a device.
  void write() const;

 private:
  struct Sum {
    uint64_t operations = 0, bytes = 0, hash = 0;
  };
  std::string file_;
  std::map<std::string, Sum> sums_;
};

}  // namespace weft::cuda_device
