// SPDX-License-Identifier: Apache-2.0
// From the words of a statement to the function that executes it. The table of all instructions is beside these
// functions, in machine/instructions/.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/ptx/contraction.h"
#include "simulator/ptx/instruction.h"

namespace weft::cuda_device {

// The words of an opcode: "ld.global.nc.v4.f32". A decoder takes each word that it knows; a word that is left over
// would change the result in a way that is not simulated, so it stops the program.
class Words {
 public:
  explicit Words(std::string_view opcode);

  std::string_view name() const { return words_.front(); }
  bool has(std::string_view word) const;
  bool take(std::string_view word);                              // whether the word was there
  bool take_any(std::initializer_list<std::string_view> words);  // drops all of them that are there
  // The word among `words` that is there, else `fallback`.
  std::string_view take_one(std::initializer_list<std::string_view> words, std::string_view fallback = {});
  std::string_view take_last();   // usually the type
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
  std::vector<std::string_view> operands;  // as in the text
  Instruction& instruction;
  // The bytes of each operand if it is written as a number, operands in braces one by one; the last width repeats.
  std::vector<int> widths;
  size_t least_operands = 0;
  bool of_call = false;  // an address is that of a call's parameter, which is in local memory
  Contractible contractible;
};

using Decode = void (*)(Statement&);
struct TableEntry {
  std::string_view name;
  Decode decode;
  size_t operands = 0;  // the fewest operands of its functions, those in braces counted separately
};

// Fills in the instruction and the widths. Throws UnknownInstruction.
void decode(Statement& statement);

}  // namespace weft::cuda_device
