#pragma once
#include <optional>

#include "checkpoint/box.h"
#include "checkpoint/manifest.h"

namespace weft {

// Committed checkpoints of a run directory, oldest first: directories step-N with a manifest. Nothing is read yet.
std::vector<fs::path> list_checkpoints(const fs::path& directory);

// A committed checkpoint, opened: its manifest is checked, its tensors are not read.
class Checkpoint {
 public:
  static Checkpoint open(const fs::path& path);
  const fs::path& path() const { return path_; }
  const CheckpointManifest& manifest() const { return manifest_; }

  // Fills the boxes from whatever slices the checkpoint holds, on any layout; each slice that is needed is read whole
  // and its checksum compared. DataError where a tensor is missing, has another shape or dtype, or is damaged.
  void read(const std::vector<TensorBox>& boxes) const;
  // The global shape of every tensor of a buffer, by name.
  std::vector<std::pair<std::string, Shape>> tensors(const std::string& buffer) const;

 private:
  fs::path path_;
  CheckpointManifest manifest_;
};

// The newest checkpoint whose every slice is intact; damaged ones are told and passed over. Nothing where none is.
std::optional<Checkpoint> latest_valid(const fs::path& directory);

}  // namespace weft
