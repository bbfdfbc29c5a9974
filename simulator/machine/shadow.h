// SPDX-License-Identifier: Apache-2.0
// The last readers and writers of each two bytes of some memory: the state from which races and uninitialised reads are
// found.
//
// A race is two accesses to the same two bytes, one of them a write, that nothing orders: a barrier of the warp between
// lanes of one warp, a barrier of the block between warps, atomics that publish (releases.h) between blocks, streams
// and events between operations. Two writes of the same value race as well: the manual leaves the outcome open, and a
// kernel can let one lane write. Atomics on the same bytes do not race with each other. Single bytes that neighbouring
// lanes of one instruction access count as one access of the warp; scattered bytes race.
//
// Memory is kept in chunks of 16 bytes. As long as all accesses to a chunk cover it whole, by one lane with 16 bytes or
// by neighbouring lanes with fewer, it has one pair of stamps; when parts of it are touched it is split into eight
// pairs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "simulator/machine/history.h"

namespace weft::cuda_device {

constexpr size_t kGranule = 2;  // bytes: neighbouring bf16 belong to different threads
constexpr size_t kChunk = 16;   // bytes: the widest access of one lane
constexpr int kGranules = int(kChunk / kGranule);
constexpr uint32_t kLanesOfWarp = 32;

// The last accesses of one kind. An access ordered after the last of several is ordered after all forgotten ones.
struct Stamp {
  enum Level : uint32_t { kThread, kWarp, kBlock, kMany };  // the author; kMany: several blocks of one launch

  RunId run = kNever;
  uint32_t moment : 16 = 0;  // warp barriers since the block's last barrier
  uint32_t thread : 10 = 0;  // the thread's number in the block; of the first bytes, if striped
  uint32_t stripe : 2 = 0;   // log2 of the neighbouring lanes that share the chunk
  uint32_t level : 2 = kThread;
  uint32_t atomic : 1 = 0;
  uint32_t split : 1 = 0;  // not a stamp: `run` is the number of the chunk's Parts

  uint32_t thread_of(int granule) const { return thread + (uint32_t(granule) << stripe >> 3); }
  uint64_t bits() const { return std::bit_cast<uint64_t>(*this); }
};
static_assert(sizeof(Stamp) == 8);

enum class Touch : uint8_t { Read, Write, Atomic };

// The work that a block published, by a fence and an atomic.
struct Release {
  RunRange runs;        // the runs of the block; the last one was in progress at that time
  uint32_t thread = 0;  // the releasing thread: of the last run, only its work and, before `moment`, its warp's counts
  uint32_t moment = 0;
};

// The author of an access, and the accesses that it is ordered after.
struct Accessor {
  RunId floor = kFirstRun;   // older writes count as never made (shared memory of earlier blocks)
  RunId launch = kFirstRun;  // first run of the operation
  RunId block = kFirstRun;   // first run of the block
  RunId run = kFirstRun;     // since the block's last barrier
  uint32_t moment = 0;
  uint32_t thread = 0;
  bool whole_warp = false;                           // the warp as one (ldmatrix, wmma): `thread` is any of its lanes
  bool zero_is_written = false;                      // the host's memory: writes of the host are not seen
  const std::vector<RunRange>* unordered = nullptr;  // runs that this one is not ordered after, by History
  const std::vector<Release>* acquired = nullptr;    // releases of other blocks of the launch, by run
  bool acquired_all = false;                         // all blocks before this one released, and it knows all of it
};

// A wrong access.
struct Conflict {
  enum class Why : uint8_t { Nothing, Uninitialised, SameWarp, OtherWarp, OtherBlock, OtherOperation };
  Why why = Why::Nothing;
  bool with_write = false;  // the earlier access
  RunId run = kNever;       // run of the earlier access
  size_t granule = 0;       // the first granule concerned
  explicit operator bool() const { return why != Why::Nothing; }
};

class Shadow {
 public:
  Shadow() = default;
  explicit Shadow(size_t bytes);

  // Checks and records an access of one lane within one chunk.
  Conflict touch(size_t offset, size_t bytes, Touch kind, const Accessor& who);
  // Checks and records an access of `lanes` neighbouring lanes from who.thread on, `lane_bytes` (2, 4, 8 or 16) each.
  // Returns the first finding.
  Conflict touch_lanes(size_t offset, size_t lane_bytes, int lanes, Touch kind, const Accessor& who);
  // Checks and records an access of one thread to any range.
  Conflict touch_range(size_t offset, size_t bytes, Touch kind, const Accessor& who);

  void forget(size_t offset, size_t bytes);  // resets the bytes to never written
  // Calls visit(offset, bytes) for every stretch last written by run `since` or a later one, from the lowest on.
  // Searches only between the first and the last byte written since the previous call.
  void take_written(RunId since, const std::function<void(size_t, size_t)>& visit);
  void renumber(const History::Renumbering& renumbering);
  // Readers that a later unordered reader displaced are kept apart; this drops those that no longer matter.
  void drop_readers(const History& history);
  size_t split_chunks() const { return parts_.size() - free_parts_.size(); }

 private:
  struct Pair {
    Stamp write, read;
  };
  using Parts = std::array<Pair, kGranules>;
  struct Free {
    void operator()(Pair* p) const { std::free(p); }
  };
  struct Reader {  // a reader of granules, displaced by another that is not ordered after it
    RunId run;
    size_t first, last;
  };

  // Touches `count` chunks; the thread of each is `step` after that of the chunk before.
  Conflict touch_chunks(size_t chunk, size_t count, Touch kind, const Accessor& who, Stamp mine, uint32_t step);
  bool note_if_plain(Pair& pair, Touch kind, const Accessor& who, Stamp mine);
  Conflict touch_chunk(size_t chunk, Touch kind, const Accessor& who, Stamp mine);
  // Checks an access against one pair of stamps, of a granule or of a chunk, and records it there.
  Conflict touch_pair(Pair& pair, size_t first, size_t last, Touch kind, const Accessor& who, Stamp mine);
  void note_read(Pair& pair, size_t first, size_t last, const Accessor& who, Stamp mine);
  Parts& split(Pair& pair);
  void join(Pair& pair);
  void displace(RunId run, size_t first, size_t last);
  void widen(size_t offset, size_t bytes, Touch kind) {
    if (kind == Touch::Read) return;
    written_first_ = std::min(written_first_, offset);
    written_end_ = std::max(written_end_, offset + bytes);
  }
  Conflict displaced_readers(size_t first, size_t last, const Accessor& who) const;

  std::unique_ptr<Pair[], Free> chunks_;
  size_t count_ = 0;
  std::vector<Parts> parts_;
  std::vector<uint32_t> free_parts_;
  std::vector<Reader> readers_;
  size_t written_first_ = SIZE_MAX, written_end_ = 0;  // since take_written()
};

}  // namespace weft::cuda_device
