// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/shadow.h"

#include <algorithm>
#include <new>
#include <utility>

namespace weft::cuda_device {
namespace {

using Why = Conflict::Why;

bool is_unordered(RunId run, const Accessor& who) {
  if (!who.unordered) return false;
  const auto after = std::ranges::upper_bound(*who.unordered, run, {}, &RunRange::first);
  return after != who.unordered->begin() && std::prev(after)->contains(run);
}

// Whether the block that made the access `s` published it to this block (machine/releases.h).
bool is_acquired(Stamp s, const Accessor& who) {
  if (!who.acquired || who.acquired->empty()) return false;
  if (s.level == Stamp::kMany) return who.acquired_all;
  const auto after = std::ranges::upper_bound(*who.acquired, s.run, {}, [](const Release& r) { return r.runs.first; });
  if (after == who.acquired->begin()) return false;
  const Release& release = *std::prev(after);
  if (!release.runs.contains(s.run)) return false;
  if (s.run + 1 < release.runs.end) return true;  // the block passed a barrier in between
  if (s.level == Stamp::kBlock || s.thread / kLanesOfWarp != release.thread / kLanesOfWarp) return false;
  return s.moment < release.moment || (s.level == Stamp::kThread && !s.stripe && s.thread == release.thread);
}

// Why the access `s` and one that `who` makes now may happen in either order.
Why relation(Stamp s, const Accessor& who) {
  if (s.run < who.floor) return Why::Nothing;
  if (s.run < who.launch) return is_unordered(s.run, who) ? Why::OtherOperation : Why::Nothing;
  if (s.run < who.block || s.level == Stamp::kMany) return is_acquired(s, who) ? Why::Nothing : Why::OtherBlock;
  if (s.run < who.run) return Why::Nothing;  // a barrier of the block is between the two
  if (s.level == Stamp::kBlock || s.thread / kLanesOfWarp != who.thread / kLanesOfWarp) return Why::OtherWarp;
  if (s.moment < who.moment) return Why::Nothing;  // a barrier of the warp
  return s.level == Stamp::kThread && s.thread == who.thread && !who.whole_warp ? Why::Nothing : Why::SameWarp;
}

// The quick answer for most accesses: the access `s` certainly came before.
bool is_before(Stamp s, const Accessor& who) {
  if (s.split) return false;
  if (s.run < who.launch) return s.run >= who.floor && !is_unordered(s.run, who);
  return s.run >= who.block && s.run < who.run && s.level != Stamp::kMany;
}
bool is_absent(Stamp s, const Accessor& who) { return !s.split && s.run < who.floor; }
// Whether one more reader changes nothing: readers of several blocks, of this block since its barrier, or of this warp
// are recorded already.
bool is_read_already(Stamp s, Stamp mine, const Accessor& who) {
  if (s.split || s.run < who.launch) return false;
  if (s.level == Stamp::kMany) return true;
  if (s.run != mine.run) return false;
  if (s.level == Stamp::kBlock) return true;
  return s.moment == mine.moment && s.thread / kLanesOfWarp == mine.thread / kLanesOfWarp && s.level == Stamp::kWarp;
}

Stamp stamp_of(const Accessor& who) {
  Stamp s;
  s.run = who.run;
  s.moment = who.moment & 0xffff;
  s.thread = who.thread & 0x3ff;
  s.level = who.whole_warp ? Stamp::kWarp : Stamp::kThread;
  return s;
}

// One stamp for two accesses that nothing orders: it stands for as many threads as are needed to include both.
Stamp joined(Stamp old, Stamp mine, Why why) {
  mine.level = why == Why::SameWarp ? Stamp::kWarp : why == Why::OtherWarp ? Stamp::kBlock : Stamp::kMany;
  if (old.run == mine.run) mine.moment = std::max(uint32_t(old.moment), uint32_t(mine.moment));
  mine.stripe = 0;
  return mine;
}

void keep_first(Conflict& found, Conflict next) {
  if (!found) found = next;
}

}  // namespace

Shadow::Shadow(size_t bytes) : count_((bytes + kChunk - 1) / kChunk) {
  chunks_.reset(static_cast<Pair*>(std::calloc(std::max<size_t>(count_, 1), sizeof(Pair))));  // zero: never accessed
  if (!chunks_) throw std::bad_alloc();
}

Conflict Shadow::touch(size_t offset, size_t bytes, Touch kind, const Accessor& who) {
  widen(offset, bytes, kind);
  Pair& pair = chunks_[offset / kChunk];
  const Stamp mine = stamp_of(who);
  if (bytes == kChunk) return touch_chunks(offset / kChunk, 1, kind, who, mine, 0);
  Parts& parts = pair.write.split ? parts_[pair.write.run] : split(pair);
  Conflict found;
  for (size_t g = offset / kGranule; g <= (offset + bytes - 1) / kGranule; ++g)
    if (!note_if_plain(parts[g % kGranules], kind, who, mine))
      keep_first(found, touch_pair(parts[g % kGranules], g, g, kind, who, mine));
  return found;
}

Conflict Shadow::touch_lanes(size_t offset, size_t lane_bytes, int lanes, Touch kind, const Accessor& who) {
  Conflict found;
  Accessor lane = who;
  const size_t end = offset + lane_bytes * size_t(lanes);
  widen(offset, end - offset, kind);
  const auto one = [&] {
    keep_first(found, touch(offset, lane_bytes, kind, lane));
    offset += lane_bytes;
    ++lane.thread;
  };
  while (offset < end && offset % kChunk != 0) one();
  if (const size_t whole = (end - offset) / kChunk; whole > 0 && offset < end) {
    Stamp mine = stamp_of(lane);
    const auto sharing = uint32_t(kChunk / lane_bytes);
    mine.stripe = uint32_t(std::countr_zero(sharing)) & 3;
    keep_first(found, touch_chunks(offset / kChunk, whole, kind, who, mine, sharing));
    offset += whole * kChunk;
    lane.thread += uint32_t(whole) * sharing;
  }
  while (offset < end) one();
  return found;
}

Conflict Shadow::touch_range(size_t offset, size_t bytes, Touch kind, const Accessor& who) {
  Conflict found;
  widen(offset, bytes, kind);
  const size_t end = offset + bytes;
  const auto part = [&](size_t n) {
    if (n == 0) return;
    keep_first(found, touch(offset, n, kind, who));
    offset += n;
  };
  part(std::min(bytes, (kChunk - offset % kChunk) % kChunk));
  const size_t whole = (end - offset) / kChunk;
  keep_first(found, touch_chunks(offset / kChunk, whole, kind, who, stamp_of(who), 0));
  offset += whole * kChunk;
  part(end - offset);
  return found;
}

// Most accesses are fine at once: earlier ones certainly came before. Records such an access, and returns true.
bool Shadow::note_if_plain(Pair& pair, Touch kind, const Accessor& who, Stamp mine) {
  const bool read_over = is_absent(pair.read, who) || is_before(pair.read, who);
  if (kind == Touch::Read) {
    if (!is_before(pair.write, who)) return false;
    if (!read_over) return is_read_already(pair.read, mine, who);
    pair.read = mine;
    return true;
  }
  const bool plain = kind == Touch::Write && read_over && readers_.empty() &&
                     (is_absent(pair.write, who) || is_before(pair.write, who));
  if (plain) pair = {mine, Stamp()};
  return plain;
}

Conflict Shadow::touch_chunks(size_t chunk, size_t count, Touch kind, const Accessor& who, Stamp mine, uint32_t step) {
  Conflict found;
  for (size_t k = chunk; k < chunk + count; ++k) {
    if (!note_if_plain(chunks_[k], kind, who, mine)) keep_first(found, touch_chunk(k, kind, who, mine));
    mine.thread += step;
  }
  return found;
}

Conflict Shadow::touch_chunk(size_t chunk, Touch kind, const Accessor& who, Stamp mine) {
  Pair& pair = chunks_[chunk];
  Accessor lane = who;
  lane.thread = mine.thread;
  const size_t first = chunk * kGranules;
  // If lanes share the chunk in different ways, each part has its own stamps.
  const auto apart = [&](Stamp s) { return s.run == who.run && s.level == Stamp::kThread && s.stripe != mine.stripe; };
  if (!pair.write.split && !apart(pair.write) && !apart(pair.read))
    return touch_pair(pair, first, first + kGranules - 1, kind, lane, mine);
  Parts& parts = pair.write.split ? parts_[pair.write.run] : split(pair);
  Conflict found;
  for (int g = 0; g < kGranules; ++g) {
    lane.thread = mine.thread_of(g);
    const Stamp part = stamp_of(lane);
    if (!note_if_plain(parts[size_t(g)], kind, lane, part))
      keep_first(found, touch_pair(parts[size_t(g)], first + size_t(g), first + size_t(g), kind, lane, part));
  }
  if (kind == Touch::Write) {
    join(pair);
    pair = {mine, Stamp()};
  }
  return found;
}

Conflict Shadow::touch_pair(Pair& pair, size_t first, size_t last, Touch kind, const Accessor& who, Stamp mine) {
  Conflict found;
  if (kind != Touch::Write && is_absent(pair.write, who) && !who.zero_is_written)
    found = {Why::Uninitialised, true, kNever, first};
  const bool both_atomic = kind == Touch::Atomic && pair.write.atomic;
  const Why write = relation(pair.write, who);
  if (!both_atomic && write != Why::Nothing) keep_first(found, {write, true, pair.write.run, first});
  if (kind == Touch::Read) {
    note_read(pair, first, last, who, mine);
    return found;
  }
  if (const Why read = relation(pair.read, who); read != Why::Nothing)
    keep_first(found, {read, false, pair.read.run, first});
  if (!readers_.empty()) keep_first(found, displaced_readers(first, last, who));
  if (both_atomic && write != Why::Nothing) mine = joined(pair.write, mine, write);
  mine.atomic = kind == Touch::Atomic;
  pair = {mine, Stamp()};
  return found;
}

// Readers that are ordered before this one can be forgotten: an access that comes after this one comes after them too.
void Shadow::note_read(Pair& pair, size_t first, size_t last, const Accessor& who, Stamp mine) {
  const Why why = relation(pair.read, who);
  if (why == Why::OtherOperation) displace(pair.read.run, first, last);
  pair.read = why == Why::Nothing || why == Why::OtherOperation ? mine : joined(pair.read, mine, why);
}

Shadow::Parts& Shadow::split(Pair& pair) {
  uint32_t number;
  if (free_parts_.empty()) {
    number = uint32_t(parts_.size());
    parts_.emplace_back();
  } else {
    number = free_parts_.back();
    free_parts_.pop_back();
  }
  Parts& parts = parts_[number];
  for (int g = 0; g < kGranules; ++g) {
    parts[size_t(g)] = pair;
    for (Stamp* s : {&parts[size_t(g)].write, &parts[size_t(g)].read}) {
      s->thread = s->thread_of(g) & 0x3ff;
      s->stripe = 0;
    }
  }
  pair = {};
  pair.write.split = 1;
  pair.write.run = number;
  return parts;
}

void Shadow::join(Pair& pair) {
  if (pair.write.split) free_parts_.push_back(pair.write.run);
}

void Shadow::displace(RunId run, size_t first, size_t last) {
  if (!readers_.empty()) {
    Reader& r = readers_.back();
    if (r.run == run && first <= r.last + 1 && last + 1 >= r.first) {
      r.first = std::min(r.first, first);
      r.last = std::max(r.last, last);
      return;
    }
  }
  readers_.push_back({run, first, last});
}

Conflict Shadow::displaced_readers(size_t first, size_t last, const Accessor& who) const {
  for (const Reader& r : readers_)
    if (r.first <= last && first <= r.last && is_unordered(r.run, who))
      return {Why::OtherOperation, false, r.run, std::max(first, r.first)};
  return {};
}

void Shadow::forget(size_t offset, size_t bytes) {
  if (count_ == 0 || bytes == 0) return;
  for (size_t c = offset / kChunk; c <= (offset + bytes - 1) / kChunk; ++c) {
    Pair& pair = chunks_[c];
    if (c * kChunk >= offset && (c + 1) * kChunk <= offset + bytes) {
      join(pair);
      pair = {};
      continue;
    }
    Parts& parts = pair.write.split ? parts_[pair.write.run] : split(pair);
    for (size_t g = 0; g < size_t(kGranules); ++g) {
      const size_t at = c * kChunk + g * kGranule;
      if (at >= offset && at < offset + bytes) parts[g] = {};
    }
  }
}

void Shadow::take_written(RunId since, const std::function<void(size_t, size_t)>& visit) {
  const size_t end = std::exchange(written_end_, 0);
  size_t from = 0, to = 0;  // the current stretch
  const auto add = [&](size_t offset, size_t bytes) {
    if (offset != to || from == to) {
      if (from < to) visit(from, to - from);
      from = offset;
    }
    to = offset + bytes;
  };
  for (size_t chunk = std::exchange(written_first_, SIZE_MAX) / kChunk; chunk * kChunk < end; ++chunk) {
    const Stamp write = chunks_[chunk].write;
    if (!write.split && write.run >= since) add(chunk * kChunk, kChunk);
    if (!write.split) continue;
    for (size_t g = 0; g < size_t(kGranules); ++g)
      if (parts_[write.run][g].write.run >= since) add(chunk * kChunk + g * kGranule, kGranule);
  }
  if (from < to) visit(from, to - from);
}

void Shadow::renumber(const History::Renumbering& renumbering) {
  for (size_t c = 0; c < count_; ++c) {
    if (!chunks_[c].write.split) chunks_[c].write.run = renumbering(chunks_[c].write.run);
    if (!chunks_[c].write.split) chunks_[c].read.run = renumbering(chunks_[c].read.run);
  }
  for (Parts& parts : parts_)
    for (Pair& pair : parts) {
      pair.write.run = renumbering(pair.write.run);
      pair.read.run = renumbering(pair.read.run);
    }
  for (Reader& r : readers_) r.run = renumbering(r.run);
}

void Shadow::drop_readers(const History& history) {
  std::erase_if(readers_, [&](const Reader& r) { return history.op_of(r.run) == kBeforeAll; });
}

}  // namespace weft::cuda_device
