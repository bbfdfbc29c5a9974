#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "checkpoint/box.h"
#include "checkpoint/manifest.h"
#include "kernels/transfer.h"
#include "parallel/communicator.h"

namespace weft {

// What a checkpoint holds besides tensors; the same on every rank.
struct CheckpointHeader {
  int64_t step = 0;
  int64_t sequence = 0;  // in the order of saves of the run directory
  int64_t attempt = 0;   // of the run
  nlohmann::ordered_json state;
  std::string job;
  nlohmann::ordered_json fingerprint;
  nlohmann::ordered_json provenance;
  std::vector<std::pair<std::string, std::string>> attachments;  // name, text
};

// rank-00000, of the file of a rank's slices without its ending.
std::string part_name(int rank);
// Attachments and manifest of a checkpoint in `directory` whose parts are written: what makes it one.
void write_manifest(const fs::path& directory, const CheckpointHeader& header, std::vector<CheckpointFile> parts);

// That of a committed checkpoint, for one that is made of it.
CheckpointHeader header_of(const fs::path& checkpoint, const CheckpointManifest& manifest);

fs::path checkpoint_path(const fs::path& directory, int64_t step);  // DIR/step-00001000
// Where attempt 2 writes it: DIR/step-00001000.2.tmp, a name that no other attempt writes to.
fs::path unfinished_path(const fs::path& checkpoint, int64_t attempt);

// Writes checkpoints of all ranks in two phases. start() has the boxes that this rank owns copied, beside what its
// device does next, and returns; before they are written to, await_snapshots() is called. A thread waits for the copy,
// writes it to DIR/step-N.ATTEMPT.tmp/rank-R.h5 and syncs. finish() is collective: once every rank has written, rank 0
// writes the manifest and renames the directory; if one failed, the .tmp directory goes and the error says why, and
// what was there before stays. One save at a time; the boxes' tensors stay until it has finished.
class CheckpointWriter {
 public:
  CheckpointWriter(fs::path directory, Context& context, Communicator& world);
  ~CheckpointWriter();

  void start(CheckpointHeader header, const std::vector<TensorBox>& owned);
  bool busy() const { return header_.has_value(); }
  bool written() const;  // this rank's part is written, or failed
  // Waits for all ranks and commits. Returns the checkpoint's path; throws the same DataError on every rank.
  fs::path finish();

 private:
  void copy(const std::vector<TensorBox>& owned);
  void write_part(const fs::path& directory);
  void commit(const CheckpointHeader& header, const fs::path& temporary, const fs::path& target) const;
  std::string space_text(const fs::path& directory) const;

  fs::path directory_;
  Context& context_;
  Communicator& world_;
  std::optional<CheckpointHeader> header_;
  std::shared_ptr<MemoryPool> host_;  // keeps the memory of one save for the next
  std::vector<TensorBox> boxes_;      // in that memory
  std::unique_ptr<Snapshot> snapshot_;
  uint64_t part_bytes_ = 0;
  std::thread thread_;  // the first to go
  std::atomic<bool> written_{false};
  std::string failure_;  // of this rank's part; read once the thread is joined
};

}  // namespace weft
