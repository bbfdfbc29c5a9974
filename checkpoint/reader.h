// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "checkpoint/attachments.h"
#include "checkpoint/manifest.h"
#include "checkpoint/parts/box.h"
#include "kernels/context.h"
#include "parallel/mesh.h"

namespace weft {

// True for "step-" and digits, the name of a checkpoint's directory. kUnfinished follows it while a checkpoint is being
// written or deleted.
bool is_step_name(std::string_view name);
constexpr std::string_view kUnfinished = ".tmp";

// Committed checkpoints of a run directory in any order: directories step-N with a manifest, which is not read.
std::vector<fs::path> committed_directories(const fs::path& directory);

// The sort key of a checkpoint with this sequence number, in the order of saves. It includes the length of the name:
// steps of more than eight digits do not sort by name alone.
using SaveOrder = std::tuple<int64_t, size_t, std::string>;
SaveOrder save_order(int64_t sequence, const fs::path& checkpoint);

// committed_directories() in the order of saves, the oldest first: those without a sequence number in the order of
// steps, then the others by number. A checkpoint whose manifest cannot be read counts as the newest, so that a search
// for the newest reports it. Tensors are not read.
std::vector<fs::path> list_checkpoints(const fs::path& directory);

// The sequence number in a checkpoint's manifest, of which nothing else is checked; above all others if it cannot be
// read.
int64_t sequence_of(const fs::path& checkpoint);

// The sequence number for the next save in a directory: above those of all checkpoints in it, also those set aside.
int64_t next_sequence(const fs::path& directory);

// A committed checkpoint, opened: its manifest is checked, its tensors are not read.
class Checkpoint {
 public:
  static Checkpoint open(const fs::path& path);
  // Collective: rank 0 reads the manifest and checks the files for all ranks. All ranks throw what rank 0 throws.
  static Checkpoint open(const fs::path& path, Communicator& world);
  const fs::path& path() const { return path_; }
  const CheckpointManifest& manifest() const { return manifest_; }

  // The amount of data that was read.
  struct Read {
    uint64_t bytes = 0;  // array bytes
    int files = 0;       // files whose index was read
  };
  // Fills the boxes from the checkpoint's arrays, whatever layout wrote them. Only blocks that hold a part of a box are
  // read, and their checksums are compared. Files are searched in the order in which they are likely to hold what the
  // rank of `mesh` needs, until all is found. DataError if a tensor is missing, has another shape or dtype, or is
  // damaged. `on_progress` is called after every few megabytes.
  Read read(Context& context, const std::vector<TensorBox>& boxes, const std::function<void()>& on_progress = {},
            const Mesh* mesh = nullptr) const;
  // A whole tensor of the master weights, fp32 on the host.
  Tensor read_whole(Context& context, const std::string& name, const Shape& shape) const;
  // The global shape of every tensor of a buffer, by name. Reads every file's index.
  std::vector<std::pair<std::string, Shape>> tensors(const std::string& buffer = kMasterBuffer) const;
  CheckpointTokenizers tokenizers() const;  // DataError naming the file

 private:
  Checkpoint(fs::path path, CheckpointManifest manifest) : path_(std::move(path)), manifest_(std::move(manifest)) {}
  fs::path path_;
  CheckpointManifest manifest_;
};

// The newest checkpoint whose every array is intact; damaged ones are logged and skipped. nullopt if no checkpoint is
// intact.
std::optional<Checkpoint> latest_valid(const fs::path& directory, const std::function<void()>& on_progress = {});

}  // namespace weft
