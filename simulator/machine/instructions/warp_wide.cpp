// SPDX-License-Identifier: Apache-2.0
// Instructions of all lanes of a warp together: shuffles, votes, matches, reductions. All lanes that the mask names
// must be there at the same time; diverged lanes meet only when their program counters do.
#include "simulator/machine/instructions/elementwise.h"
#include "simulator/machine/instructions/families.h"
#include "simulator/machine/instructions/values.h"
#include "simulator/ptx/text.h"

namespace weft::cuda_device {
namespace {

// Each lane's mask must name the lane itself and only lanes that are present; lanes that have ended are not present.
bool check_members(Warp& w, const Instruction& i, const Operand& masks) {
  const auto* mask = w.lanes<uint32_t>(masks);
  uint32_t wrong = 0;
  for (int l = 0; l < kLanes; ++l) wrong |= uint32_t((mask[l] & ~w.exec) != 0 || !(mask[l] >> l & 1)) << l;
  wrong &= w.exec;
  if (!wrong) return true;
  const int lane = std::countr_zero(wrong);
  report(w, i, lane, ReportKind::Barrier,
         "names lanes " + std::to_string(mask[lane]) + " but only lanes " + std::to_string(w.exec) + " are here");
  return false;
}

enum Direction { kButterfly, kUp, kDown, kIndex };

// shfl d(|p), a, b, c, mask. c holds a segment mask (bits 8 to 12) and a bound within the segment.
void shuffle(Warp& w, const Instruction& i) {
  const bool with_predicate = i.operands.size() == 6;
  const size_t a = with_predicate ? 2 : 1;
  check_members(w, i, i.operands[a + 3]);
  std::array<uint32_t, kLanes> from;
  std::memcpy(from.data(), w.lanes<uint32_t>(i.operands[a]), sizeof from);
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const auto *b = w.lanes<uint32_t>(i.operands[a + 1]), *c = w.lanes<uint32_t>(i.operands[a + 2]);
  uint32_t inside = 0;
  for_each_lane(w.exec, [&](int l) {
    const int segment = int(c[l] >> 8 & 31), low = l & segment, high = low | (int(c[l] & 31) & ~segment);
    const int by = int(b[l] & 31);
    int lane = low | (by & ~segment);
    if (i.mode == kButterfly) lane = l ^ by;
    if (i.mode == kUp) lane = l - by;
    if (i.mode == kDown) lane = l + by;
    const bool ok = i.mode == kUp ? lane >= high : lane <= high;
    inside |= uint32_t(ok) << l;
    if (!ok) lane = l;
    if (w.exec >> lane & 1)
      d[l] = from[size_t(lane)];
    else
      report(w, i, l, ReportKind::Barrier, "reads lane " + std::to_string(lane) + ", which is not here");
  });
  if (with_predicate) w.set_predicate(i.operands[1], inside);
}

enum Vote { kAll, kAny, kUni, kBallot };

void vote(Warp& w, const Instruction& i) {  // vote d, p, mask
  check_members(w, i, i.operands[2]);
  const auto* masks = w.lanes<uint32_t>(i.operands[2]);
  const uint32_t truth = w.predicate(i.operands[1]) & w.exec;
  uint32_t result = 0;
  for_each_lane(w.exec, [&](int l) {
    const uint32_t asked = masks[l], yes = truth & asked;
    if (i.mode == kBallot) w.lanes<uint32_t>(i.operands[0])[l] = yes;
    const bool r = i.mode == kAll ? yes == asked : i.mode == kAny ? yes != 0 : yes == 0 || yes == asked;
    result |= uint32_t(r) << l;
  });
  if (i.mode != kBallot) w.set_predicate(i.operands[0], result);
}

// match.any: the lanes with the same value; match.all d|p: whether all lanes have the same value.
template <class T, bool kEvery>
void match(Warp& w, const Instruction& i) {
  const size_t a = i.operands.size() == 4 ? 2 : 1;
  check_members(w, i, i.operands[a + 1]);
  const T* values = w.lanes<T>(i.operands[a]);
  const auto* masks = w.lanes<uint32_t>(i.operands[a + 1]);
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  uint32_t all = 0;
  for_each_lane(w.exec, [&](int l) {
    uint32_t same = 0;
    for_each_lane(masks[l] & w.exec, [&](int k) { same |= uint32_t(values[k] == values[l]) << k; });
    const bool every = same == masks[l];
    d[l] = kEvery && !every ? 0 : same;
    all |= uint32_t(every) << l;
  });
  if (a == 2) w.set_predicate(i.operands[1], all);
}

template <class T, class F>
void reduce(Warp& w, const Instruction& i) {  // redux d, a, mask
  check_members(w, i, i.operands[2]);
  const T* a = w.lanes<T>(i.operands[1]);
  const auto* masks = w.lanes<uint32_t>(i.operands[2]);
  std::array<T, kLanes> results;
  for_each_lane(w.exec, [&](int l) {
    const uint32_t members = masks[l] & w.exec;
    if (!members) return;
    T r = a[std::countr_zero(members)];
    for_each_lane(members & (members - 1), [&](int k) { r = F{}(r, a[k]); });
    results[size_t(l)] = r;
  });
  for_each_lane(w.exec, [&](int l) { w.lanes<T>(i.operands[0])[l] = results[size_t(l)]; });
}

void active_lanes(Warp& w, const Instruction& i) {
  auto* d = w.lanes<uint32_t>(i.operands[0]);
  const uint32_t exec = w.exec;
  for_lanes(exec, [=](int l) { d[l] = exec; });
}

// ---- functions for the words of an opcode; devices from sm_70 on lack the forms without .sync

bool has_two_results(const Statement& s) { return s.operands.at(0).find('|') != std::string_view::npos; }
bool is_synchronous(Statement& s) {
  s.instruction.meets = Meets::Named;
  return s.words.take("sync");
}

void decode_shfl(Statement& s) {
  const std::string_view how = s.words.take_one({"bfly", "up", "down", "idx"});
  s.instruction.mode = how == "bfly" ? kButterfly : how == "up" ? kUp : how == "down" ? kDown : kIndex;
  s.instruction.results = has_two_results(s) ? 2 : 1;
  s.least_operands += has_two_results(s);
  if (is_synchronous(s) && s.words.take_last() == "b32") s.instruction.execute = &shuffle;
}
void decode_vote(Statement& s) {
  const std::string_view how = s.words.take_one({"all", "any", "uni", "ballot"});
  s.instruction.mode = how == "all" ? kAll : how == "any" ? kAny : how == "uni" ? kUni : kBallot;
  s.words.take_last();
  s.widths = {how == "ballot" ? 4 : int(Operand::kPredicate), Operand::kPredicate, 4};
  if (is_synchronous(s)) s.instruction.execute = &vote;
}
void decode_match(Statement& s) {
  const bool every = s.words.take_one({"any", "all"}) == "all";
  const std::string_view type = s.words.take_last();
  const bool two = has_two_results(s);
  s.instruction.results = two ? 2 : 1;
  s.least_operands += two;
  const int n = type_bytes(type);
  s.widths = two ? std::vector<int>{4, Operand::kPredicate, n, 4} : std::vector<int>{4, n, 4};
  if (!is_synchronous(s)) return;
  if (n == 4) s.instruction.execute = every ? &match<uint32_t, true> : &match<uint32_t, false>;
  if (n == 8) s.instruction.execute = every ? &match<uint64_t, true> : &match<uint64_t, false>;
}
void decode_redux(Statement& s) {
  const std::string_view name = s.words.take_one({"add", "min", "max", "and", "or", "xor"}), type = s.words.take_last();
  if (!is_synchronous(s)) return;
  const bool is_signed = type == "s32";
  if (!is_signed && type != "u32" && type != "b32") return;
  Execute& e = s.instruction.execute;
  if (name == "add") e = &reduce<uint32_t, Add>;
  if (name == "min") e = is_signed ? &reduce<int32_t, Min> : Execute(&reduce<uint32_t, Min>);
  if (name == "max") e = is_signed ? &reduce<int32_t, Max> : Execute(&reduce<uint32_t, Max>);
  if (name == "and") e = &reduce<uint32_t, And>;
  if (name == "or") e = &reduce<uint32_t, Or>;
  if (name == "xor") e = &reduce<uint32_t, Xor>;
}
void decode_activemask(Statement& s) {
  s.words.take_last();
  s.instruction.execute = &active_lanes;
}

constexpr TableEntry kTable[] = {{"shfl", &decode_shfl, 5},
                                 {"vote", &decode_vote, 3},
                                 {"match", &decode_match, 3},
                                 {"redux", &decode_redux, 3},
                                 {"activemask", &decode_activemask, 1}};

}  // namespace

std::span<const TableEntry> warp_instructions() { return kTable; }

}  // namespace weft::cuda_device
