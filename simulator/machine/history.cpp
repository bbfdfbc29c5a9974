// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/history.h"

#include <algorithm>
#include <stdexcept>

namespace weft::cuda_device {

RunId History::begin(OpId op) {
  const RunId run = next_run();
  if (entries_.back().op != op) entries_.push_back({run, op});
  return run;
}

RunId History::next_run() {
  if (last_ == ~RunId{0})
    throw std::runtime_error("one launch on the simulated device has too many blocks and barriers");
  return ++last_;
}

OpId History::op_of(RunId run) const {
  const auto after = std::ranges::upper_bound(entries_, run, {}, &Entry::first);
  return after == entries_.begin() ? kBeforeAll : std::prev(after)->op;
}

bool History::remembers(OpId op) const { return std::ranges::find(entries_, op, &Entry::op) != entries_.end(); }

std::vector<RunRange> History::unordered_before(OpId op, const HappensBefore& order) const {
  std::vector<RunRange> found;
  for (size_t k = 0; k + 1 < entries_.size(); ++k) {
    const Entry& e = entries_[k];
    if (e.op == kBeforeAll || e.op == op || order.ordered(e.op, op)) continue;
    const RunId end = entries_[k + 1].first;
    if (!found.empty() && found.back().end == e.first) {
      found.back().end = end;
    } else {
      found.push_back({e.first, end});
    }
  }
  return found;
}

void History::forget_settled(const HappensBefore& order) {
  std::vector<Entry> kept;
  for (Entry e : entries_) {
    if (e.op != kBeforeAll && order.settled(e.op)) e.op = kBeforeAll;
    if (kept.empty() || kept.back().op != e.op) kept.push_back(e);
  }
  entries_ = std::move(kept);
  look_again_ = std::max<size_t>(64, 2 * entries_.size());
}

History::Renumbering History::renumber() {
  Renumbering result;
  for (size_t k = 0; k < entries_.size(); ++k) {
    result.firsts_.push_back(entries_[k].first);
    entries_[k].first = kFirstRun + RunId(k);
  }
  last_ = kFirstRun + RunId(entries_.size()) - 1;
  return result;
}

RunId History::Renumbering::operator()(RunId old) const {
  if (old == kNever) return kNever;
  return kFirstRun + RunId(std::ranges::upper_bound(firsts_, old) - firsts_.begin()) - 1;
}

}  // namespace weft::cuda_device
