// SPDX-License-Identifier: Apache-2.0
// From the words of a statement to the function that does it. The table of all instructions stands with the functions
// themselves, in machine/instructions/.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/ptx/instruction.h"

namespace weft::cuda_device {

// The words of an opcode: "ld.global.nc.v4.f32". A decoder takes each word that it understands; a word that is left
// over would change the result in a way that is not simulated, so it stops the program.
class Words {
 public:
  explicit Words(std::string_view opcode);

  std::string_view name() const { return words_.front(); }
  bool take(std::string_view word);                              // is it there?
  bool take_any(std::initializer_list<std::string_view> words);  // drops all of them that are there
  // The one of `words` that is there, else `otherwise`.
  std::string_view take_one(std::initializer_list<std::string_view> words, std::string_view otherwise = {});
  std::string_view take_last();   // mostly the type
  std::string left_over() const;  // ".sat", or empty

 private:
  std::vector<std::string_view> words_;
  std::vector<bool> taken_;
};

class UnknownInstruction : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Statement {
  Words words;
  std::vector<std::string_view> operands;  // as written
  Instruction& instruction;
  // Bytes of each operand when it is written as a number, operands in braces counted one by one; the last one repeats.
  std::vector<int> widths;
  size_t least_operands = 0;
  bool of_call = false;  // an address is that of a call's parameter, which is kept in local memory
};

using Decode = void (*)(Statement&);
struct TableEntry {
  std::string_view name;
  Decode decode;
  size_t operands = 0;  // the fewest that its functions take, those in braces counted one by one
};

// Fills in the instruction and the widths. Throws UnknownInstruction.
void decode(Statement& statement);

}  // namespace weft::cuda_device
