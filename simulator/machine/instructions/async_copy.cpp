// SPDX-License-Identifier: Apache-2.0
// cp.async: from its issue until its lane waits for it, nothing may read the destination, which holds NaN; the bytes
// move as late as allowed, at the wait. Other lanes may read them after a barrier, like any other write.
#include <algorithm>

#include "simulator/machine/access.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// The number of bytes that each lane copies: operand 2 is this number, or a predicate for 0; the rest becomes zero. The
// manual leaves open what a number beyond the destination's does.
void read_wanted(const Warp& w, const Instruction& i, AsyncCopy* copy) {
  copy->wanted.fill(i.bytes);
  if (i.operands.size() < 3) return;
  const Operand& o = i.operands[2];
  for_each_lane(copy->lanes, [&](int l) {
    if (o.width == Operand::kPredicate) {
      copy->wanted[size_t(l)] = w.predicate(o) >> l & 1 ? 0 : i.bytes;
      return;
    }
    const uint32_t wanted = w.lanes<uint32_t>(o)[l];
    if (wanted > i.bytes)
      report(w, i, l, ReportKind::AsyncCopy,
             "copies " + std::to_string(wanted) + " bytes to a destination of " + std::to_string(i.bytes));
    copy->wanted[size_t(l)] = uint8_t(std::min<uint32_t>(wanted, i.bytes));
  });
}

// Checks the sources now. Lanes that copy all bytes are checked together.
void reach_sources(Warp& w, const Instruction& i, AsyncCopy* copy) {
  const Addresses from = addresses_of(w, i.operands[1]);
  uint32_t whole = 0;
  for_each_lane(copy->lanes, [&](int l) { whole |= uint32_t(copy->wanted[size_t(l)] == i.bytes) << l; });
  copy->from.fill(nullptr);
  w.exec = whole;
  if (whole) {
    const Reached r = reach(w, i, from, {.space = Space::Global, .bytes = i.bytes, .kind = Touch::Read});
    const int first = w.first_lane();
    for_each_lane(r.good,
                  [&](int l) { copy->from[size_t(l)] = r.first ? r.first + (l - first) * i.bytes : r.at[size_t(l)]; });
  }
  for_each_lane(copy->lanes & ~whole, [&](int l) {
    for (int k = copy->wanted[size_t(l)]; k-- > 0;) {
      const Access byte{.space = Space::Global, .bytes = 1, .kind = Touch::Read, .counted = k == 0};
      copy->from[size_t(l)] = reach_lane(w, i, l, from[size_t(l)] + uint64_t(k), byte);
      if (!copy->from[size_t(l)]) break;
    }
  });
  w.exec = copy->lanes;
}

void issue(Warp& w, const Instruction& i) {
  AsyncCopy copy;
  copy.lanes = w.exec;
  copy.bytes = i.bytes;
  copy.pc = w.pc;
  copy.group = w.committed;
  read_wanted(w, i, &copy);
  reach_sources(w, i, &copy);
  copy.to = addresses_of(w, i.operands[0]);
  const Reached r = reach(w, i, copy.to, {.space = Space::Shared, .bytes = i.bytes, .kind = Touch::Write});
  copy.lanes = r.good;
  for_each_lane(r.good, [&](int l) {
    const uint64_t to = copy.to[size_t(l)];
    std::memset(w.block->shared_bytes.data() + to, 0xff, copy.bytes);
    w.block->shared_shadow.forget(to, copy.bytes);
  });
  if (copy.lanes) w.copies.push_back(copy);
}

void land(Warp& w, const AsyncCopy& copy, uint32_t lanes) {
  const uint32_t exec = w.exec;
  w.exec = lanes;
  const Instruction& i = w.block->kernel().code[size_t(copy.pc)];
  reach(w, i, copy.to, {.space = Space::Shared, .bytes = copy.bytes, .kind = Touch::Write, .counted = false});
  for_each_lane(lanes, [&](int l) {
    std::byte* to = w.block->shared_bytes.data() + copy.to[size_t(l)];
    const size_t wanted = copy.from[size_t(l)] ? copy.wanted[size_t(l)] : 0;
    std::memcpy(to, copy.from[size_t(l)], wanted);
    std::memset(to + wanted, 0, copy.bytes - wanted);
  });
  w.exec = exec;
}

void commit(Warp& w, const Instruction&) {
  for_each_lane(w.exec, [&](int l) { ++w.committed[size_t(l)]; });
}

// mode 1: waits for all copies; else for all except uncommitted ones and as many last groups as the operand says.
void wait(Warp& w, const Instruction& i) {
  for (AsyncCopy& copy : w.copies) {
    uint32_t lanes = 0;
    for_each_lane(copy.lanes & w.exec, [&](int l) {
      const uint32_t keep = i.mode ? 0 : w.lanes<uint32_t>(i.operands[0])[l];
      lanes |= uint32_t(i.mode || copy.group[size_t(l)] + keep < w.committed[size_t(l)]) << l;
    });
    if (!lanes) continue;
    copy.lanes &= ~lanes;  // first: bytes that arrive are no longer in flight
    land(w, copy, lanes);
  }
  std::erase_if(w.copies, [](const AsyncCopy& c) { return c.lanes == 0; });
  ++w.block->counters->copy_waits;
  if (!w.copies.empty()) ++w.block->counters->waits_with_copies_in_flight;
}

void decode_cp(Statement& s) {
  Instruction& i = s.instruction;
  i.results = 0;
  if (!s.words.take("async")) return;
  if (s.words.take("commit_group")) {
    i.execute = &commit;
  } else if (s.words.take("wait_group")) {
    s.least_operands = 1;
    i.execute = &wait;
  } else if (s.words.take("wait_all")) {
    i.mode = 1;
    i.execute = &wait;
  } else if (s.words.take_one({"shared", "shared::cta"}) != "" && s.words.take("global")) {
    const bool past_l1 = s.words.take_one({"ca", "cg"}) == "cg";
    s.words.take_any({"L2::64B", "L2::128B", "L2::256B"});
    i.bytes = uint8_t(parse_number(s.operands.at(2)));
    if (i.bytes != 16 && (past_l1 || (i.bytes != 4 && i.bytes != 8))) return;
    s.operands.erase(s.operands.begin() + 2);
    s.widths = {8, 8, 4};
    i.execute = &issue;
  }
}

constexpr TableEntry kTable[] = {{"cp", &decode_cp}};

}  // namespace

std::span<const TableEntry> async_copy_instructions() { return kTable; }

}  // namespace weft::cuda_device
