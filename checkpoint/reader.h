#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "checkpoint/box.h"
#include "checkpoint/manifest.h"
#include "kernels/context.h"

namespace weft {

// "step-" and digits: the name of a checkpoint's directory. One that is being written or deleted has kUnfinished behind
// it.
bool is_step_name(std::string_view name);
constexpr std::string_view kUnfinished = ".tmp";

// Committed checkpoints of a run directory in no order: directories step-N with a manifest, which is not read.
std::vector<fs::path> committed_directories(const fs::path& directory);

// Where a checkpoint with this sequence number in its manifest stands in the order of saves. Steps of more than eight
// digits make longer names, not later ones in the alphabet.
using SaveOrder = std::tuple<int64_t, size_t, std::string>;
SaveOrder save_order(int64_t sequence, const fs::path& checkpoint);

// The same in the order of saves, the one saved first comes first. The order is that of their sequence numbers; those
// without one come before, by step. One whose manifest cannot be read counts as the newest, so that whoever looks for
// the newest finds out. Tensors are not read.
std::vector<fs::path> list_checkpoints(const fs::path& directory);

// For the next save in a directory: above the sequence numbers of all that is there, set aside or not.
int64_t next_sequence(const fs::path& directory);

// A committed checkpoint, opened: its manifest is checked, its tensors are not read.
class Checkpoint {
 public:
  static Checkpoint open(const fs::path& path);
  const fs::path& path() const { return path_; }
  const CheckpointManifest& manifest() const { return manifest_; }

  // Fills the boxes from whatever slices the checkpoint holds, on any layout. Slices that lie in none of the boxes are
  // not read; one that does is read whole, piece by piece, and its checksum compared. DataError if a tensor
  // is missing, has another shape or dtype, or is damaged. Returns the bytes of slices that were read.
  // `on_progress` is called after every few megabytes.
  uint64_t read(Context& context, const std::vector<TensorBox>& boxes,
                const std::function<void()>& on_progress = {}) const;
  // A whole tensor of the master weights, fp32 on the host.
  Tensor read_whole(Context& context, const std::string& name, const Shape& shape) const;
  // The global shape of every tensor of a buffer, by name.
  std::vector<std::pair<std::string, Shape>> tensors(const std::string& buffer) const;

 private:
  fs::path path_;
  CheckpointManifest manifest_;
};

// The newest checkpoint whose every slice is intact; damaged ones are logged and passed over. Nothing if none is.
std::optional<Checkpoint> latest_valid(const fs::path& directory, const std::function<void()>& on_progress = {});

}  // namespace weft
