// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/instructions/table.h"

#include <unordered_map>

#include "simulator/machine/instructions/families.h"

namespace weft::cuda_device {
namespace {

using Table = std::unordered_map<std::string_view, TableEntry>;

Table make_table() {
  Table table;
  for (const auto family : {arithmetic_instructions(), approximate_instructions(), bit_instructions(),
                            comparison_instructions(), conversion_instructions(), move_instructions(),
                            memory_instructions(), atomic_instructions(), warp_instructions(), matrix_instructions(),
                            matrix_fragment_instructions(), async_copy_instructions(), control_instructions()})
    for (const TableEntry& entry : family) table.emplace(entry.name, entry);
  return table;
}

const Table& table() {
  static const Table all = make_table();
  return all;
}

}  // namespace

std::set<std::string_view> known_instructions() {
  std::set<std::string_view> names;
  for (const auto& [name, entry] : table()) names.insert(name);
  return names;
}

void decode(Statement& statement) {
  const auto it = table().find(statement.words.name());
  if (it == table().end()) throw UnknownInstruction("unknown instruction " + std::string(statement.words.name()));
  statement.least_operands = it->second.operands;
  it->second.decode(statement);
  const Instruction& i = statement.instruction;
  if (!i.execute && i.flow == Flow::Next)
    throw UnknownInstruction("no instruction " + std::string(statement.words.name()) +
                             " of this type or kind is known here");
}

}  // namespace weft::cuda_device
