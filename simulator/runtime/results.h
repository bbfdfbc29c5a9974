// SPDX-License-Identifier: Apache-2.0
// What a program's operations computed, in a few lines that can be compared: two runs of it with different seeds must
// leave the same bits wherever a kernel, a copy or a library wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/machine/memory.h"

namespace weft::cuda_device {

class Results {
 public:
  // Empty: nothing is kept.
  explicit Results(std::string file) : file_(std::move(file)) {}

  // All that the operation which executes has written, as it stands now.
  void add(const std::string& operation, const Memory& memory);

  // Something is wrong with the program: what it computes from now on may depend on the order, and is not kept.
  void discard();

  // Appends a line for each name of an operation, at once, so that several processes may share the file:
  //   COMMAND LINE <tab> OPERATION <tab> how many there were <tab> bytes written <tab> hash
  // The hash is a sum over all pieces of 256 bytes that were written, of the bytes and of where in the piece they lie.
  // It does not depend on the order in which operations ran, nor on which memory an allocator with blocks of its own
  // gave them: where threads share a device, that is the host's timing.
  void write() const;

 private:
  struct Sum {
    uint64_t operations = 0, bytes = 0, hash = 0;
  };
  std::string file_;
  std::map<std::string, Sum> sums_;
};

}  // namespace weft::cuda_device
