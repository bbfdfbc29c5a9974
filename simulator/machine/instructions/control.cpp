// SPDX-License-Identifier: Apache-2.0
// Branches, exits, barriers, traps, and the two functions that the compiler calls by itself: assertions and printf.
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/printf.h"
#include "simulator/machine/warp.h"

namespace weft::cuda_device {
namespace {

void decode_bra(Statement& s) {
  s.words.take("uni");
  s.instruction.flow = Flow::Branch;
  s.instruction.results = 0;
}
void decode_end(Statement& s) {
  s.words.take("uni");
  s.instruction.flow = Flow::Exit;
  s.instruction.results = 0;
}

enum Vote { kCount = 1, kAnd, kOr };

// bar.red d, 0, p: executed when the barrier is passed; by then all threads have contributed their predicates.
void take_result(Warp& w, const Instruction& i) {
  const Block& b = *w.block;
  if (i.mode != kCount)
    return w.set_predicate(i.operands[0], (i.mode == kAnd ? b.yes == b.asked : b.yes > 0) ? kAllLanes : 0);
  for_each_lane(w.exec, [&](int l) { w.lanes<uint32_t>(i.operands[0])[l] = b.yes; });
}

// Only barrier 0 for all threads of the block, and barriers of a warp, are simulated.
void decode_bar(Statement& s) {
  Instruction& i = s.instruction;
  s.words.take_any({"cta", "aligned"});
  const bool of_warp = s.words.take("warp"), reduces = s.words.take("red");
  if (!reduces && !s.words.take("sync")) throw UnknownInstruction("only barriers that all wait at are known here");
  i.results = reduces ? 1 : 0;
  i.flow = of_warp ? Flow::WarpBarrier : Flow::BlockBarrier;
  i.meets = of_warp ? Meets::Named : Meets::Warp;
  if (of_warp) return;
  const size_t number = reduces ? 1 : 0;
  if (s.operands.size() != (reduces ? 3u : 1u) || s.operands[number] != "0")
    throw UnknownInstruction("only barrier 0 for all threads of the block is known here");
  if (!reduces) return;
  const std::string_view vote = s.words.take_one({"popc", "and", "or"});
  i.mode = vote == "popc" ? kCount : vote == "and" ? kAnd : kOr;
  s.words.take_last();
  s.operands.erase(s.operands.begin() + 1);
  s.widths = {i.mode == kCount ? 4 : int(Operand::kPredicate), Operand::kPredicate};
  i.execute = &take_result;
}

void trap(Warp& w, const Instruction& i) { report(w, i, w.first_lane(), ReportKind::Trap, "trap"); }
void do_nothing(Warp&, const Instruction&) {}

void decode_trap(Statement& s) {
  s.instruction.execute = &trap;
  s.instruction.results = 0;
}
void decode_nanosleep(Statement& s) {
  s.words.take_last();
  s.instruction.execute = &do_nothing;
  s.instruction.results = 0;
}

// The parameters of a call are in local memory; its operands are their offsets.
uint64_t parameter(const Warp& w, const Instruction& i, size_t number, int lane) {
  const size_t offset = w.lanes<uint64_t>(i.operands[number])[lane];
  uint64_t value;
  std::memcpy(&value, w.block->local_bytes.data() + w.thread(lane) * w.block->kernel().local_bytes + offset,
              sizeof value);
  return value;
}

void fail_assertion(Warp& w, const Instruction& i) {  //  operands: message, file, line, function, size of a character
  const int lane = w.first_lane();
  const auto text = [&](size_t number) { return text_at(w, lane, parameter(w, i, number, lane)); };
  report(w, i, lane, ReportKind::Trap,
         "assertion `" + text(0) + "` of " + text(3) + " failed (" + text(1) + ":" +
             std::to_string(uint32_t(parameter(w, i, 2, lane))) + ")");
}
void print(Warp& w, const Instruction& i) {  //  operands: returned value, format, arguments
  for_each_lane(w.exec, [&](int l) { print_formatted(w, l, parameter(w, i, 1, l), parameter(w, i, 2, l)); });
}

void decode_call(Statement& s) {
  s.words.take("uni");
  s.instruction.results = 0;  //  the returned value is in local memory
  const bool returns = s.operands.at(0).starts_with('(');
  const size_t name = returns ? 1 : 0;
  const std::string_view function = s.operands.at(name);
  s.widths = {8};
  if (function == "vprintf" && returns)
    s.instruction.execute = &print;
  else if (function == "__assertfail")
    s.instruction.execute = &fail_assertion;
  else
    throw UnknownInstruction("calls of functions that are not inlined are not known here");
  s.operands.erase(s.operands.begin() + std::ptrdiff_t(name));
}

constexpr TableEntry kTable[] = {
    {"bra", &decode_bra},
    {"ret", &decode_end},
    {"exit", &decode_end},
    {"bar", &decode_bar},
    {"barrier", &decode_bar},
    {"trap", &decode_trap},
    {"nanosleep", &decode_nanosleep},
    {"call", &decode_call},
};

}  // namespace

std::span<const TableEntry> control_instructions() { return kTable; }

}  // namespace weft::cuda_device
