// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "checkpoint/background_job.h"
#include "checkpoint/header.h"
#include "checkpoint/parts/stretch.h"
#include "checkpoint/save_states.h"
#include "kernels/tensor_digest.h"
#include "kernels/transfer.h"
#include "parallel/communicator.h"

namespace weft {

// A committed checkpoint, and on rank 0 its cost and digest: seconds of the slowest rank, bytes of all parts.
struct SavedCheckpoint {
  fs::path path;
  double copy_seconds = 0;    // until the copy was complete
  double write_seconds = 0;   // to hash, write and sync the copy
  double commit_seconds = 0;  // manifest, renames, and after_commit
  double bytes = 0;
  uint64_t digest = 0;  // of the state that was saved (checkpoint/digest/state_digest.h)
};

// Writes checkpoints of all ranks in two phases, while training continues. start() begins to copy the arrays that this
// rank owns, and returns; await_snapshots() must be called before the arrays change. A thread of each rank waits for
// the copy, writes it to DIR/step-N.ATTEMPT.tmp/rank-R.h5 in pieces and syncs them. Once every rank has written, rank
// 0's thread writes the manifest and renames the directory. The caller sums states() over the ranks and passes the
// sums to advance(). If a rank fails the others stop, the .tmp directory is deleted, and the error names the reason;
// earlier checkpoints stay. One save runs at a time; the arrays' tensors must exist until it has ended. The destructor
// abandons a save under way after the current piece.
class CheckpointWriter {
 public:
  // `patience`: how long finish() waits for a disk that takes nothing before it counts as no progress.
  CheckpointWriter(fs::path directory, Context& context, Communicator& world,
                   std::chrono::milliseconds patience = std::chrono::minutes(1));
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Allocates the memory for copies of the arrays, which is kept from one save to the next. MemoryError if there is not
  // enough.
  void reserve(std::span<const OwnedArray> owned);
  // `after_commit` runs on rank 0's thread; its errors are warnings.
  void start(CheckpointHeader header, const std::vector<OwnedArray>& owned, std::function<void()> after_commit = {});
  bool busy() const { return phase_ != Phase::Idle; }
  SaveStates states() const;
  // Collective: advances the save as the sums of all ranks' states() allow, which are the same on every rank. Returns
  // the checkpoint once it is committed; the same DataError on every rank if the save failed.
  std::optional<SavedCheckpoint> advance(const SaveStates& sums);
  // Collective: sums states() itself, and advances the save until it has ended.
  SavedCheckpoint finish();

 private:
  enum class Phase : uint8_t { Idle, Writing, Committing };
  class Cancelled {};
  // The facts about its part that a rank sends to rank 0.
  struct Part {
    CheckpointFile file;
    uint64_t digest = 0;
    double copy_seconds = 0, write_seconds = 0;
  };
  std::byte* memory() const;
  std::span<std::byte> copied_digest() const;  // i64
  void copy(std::span<const OwnedArray> owned);
  void compare_copies();
  void work(const std::function<void()>& body, const fs::path& directory);
  void look_around();
  void write_part(const fs::path& directory, std::chrono::steady_clock::time_point began);
  std::vector<Part> gather_parts() const;
  void begin_commit();
  void commit(std::vector<Part> parts);
  [[noreturn]] void fail();
  void end();
  void wait_for_job();
  fs::path target() const { return checkpoint_path(directory_, header_.step); }
  fs::path temporary() const { return unfinished_path(target(), header_.attempt); }
  std::string space_text(const fs::path& directory) const;

  fs::path directory_;
  Context& context_;
  Communicator& world_;
  std::shared_ptr<MemoryPool> host_;
  std::shared_ptr<Storage> memory_;  // holds the copies
  Phase phase_ = Phase::Idle;
  CheckpointHeader header_;
  std::function<void()> after_commit_;
  std::vector<StoredArray> arrays_;  // stored in memory_, each at a page boundary
  struct Copy {
    std::span<std::byte> bytes;  // in memory_
    DType dtype;
  };
  std::vector<Copy> copies_;
  std::optional<TensorDigest> digest_;      // of what is to be copied
  std::shared_ptr<Storage> digest_memory_;  // holds its copy
  std::unique_ptr<Snapshot> snapshot_;
  uint64_t part_bytes_ = 0;
  Part part_;              // set once the part is written
  SavedCheckpoint saved_;  // set on rank 0 once the checkpoint is committed
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> pieces_{0};  // pieces written by the job so far
  uint64_t seen_pieces_ = 0;         // when finish() looked last
  const std::chrono::milliseconds patience_;
  std::chrono::milliseconds still_{0};  // for which finish() has seen no new piece
  BackgroundJob job_;                   // destroyed first
};

}  // namespace weft
