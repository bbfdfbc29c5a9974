// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/operations.h"

#include <algorithm>
#include <utility>

namespace weft::cuda_device {

void join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t k = 0; k < other.size(); ++k) into[k] = std::max(into[k], other[k]);
}

namespace {

uint32_t at(const Clock& clock, uint32_t stream) { return stream < clock.size() ? clock[stream] : 0; }

}  // namespace

const Operations::Entry* Operations::find(OpId id) const { return id < first_ ? nullptr : &kept_.at(id - first_); }

OpId Operations::add(uint32_t stream, uint32_t number, Clock before, std::string name) {
  kept_.push_back({stream, number, std::move(before), std::move(name)});
  return first_ + kept_.size() - 1;
}

void Operations::finish(OpId id) { kept_.at(id - first_).finished = true; }

bool Operations::finished(OpId id) const {
  const Entry* entry = find(id);
  return !entry || entry->finished;
}

bool Operations::ordered(OpId before, OpId after) const {
  const Entry* earlier = find(before);
  if (!earlier || before == after) return true;
  const Entry* later = find(after);
  return later && at(later->before, earlier->stream) >= earlier->number;
}

Clock Operations::clock_after(OpId id) const {
  const Entry* entry = find(id);
  if (!entry) return {};  // every later operation comes after it
  Clock clock = entry->before;
  if (clock.size() <= entry->stream) clock.resize(entry->stream + 1);
  clock[entry->stream] = entry->number;
  return clock;
}

std::string Operations::describe(OpId id) const {
  const Entry* entry = find(id);
  if (!entry) return "an operation long finished";
  return entry->name + " (operation " + std::to_string(id) + ", stream " + std::to_string(entry->stream) + ")";
}

void Operations::forget(const Clock& floor) {
  while (!kept_.empty() && kept_.front().finished && at(floor, kept_.front().stream) >= kept_.front().number) {
    kept_.pop_front();
    ++first_;
  }
}

}  // namespace weft::cuda_device
