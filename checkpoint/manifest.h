#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "kernels/tensor.h"

namespace weft {

// A slice as it lies in a file: a contiguous array of dtype, row-major.
struct CheckpointSlice {
  std::string buffer, name;
  DType dtype = DType::F32;  // F32 or F64
  Shape shape;               // global
  std::vector<int64_t> origin;
  Shape extent;
  uint64_t offset = 0;  // of its first byte in the file
  uint64_t hash = 0;    // XXH3 of its bytes
  uint64_t bytes() const { return static_cast<uint64_t>(extent.elements()) * size_of(dtype); }
};

struct CheckpointFile {
  std::string name;  // rank-00000.h5, within the checkpoint's directory
  uint64_t bytes = 0;
  std::vector<CheckpointSlice> slices;
};

// A small file that travels with the checkpoint: a tokenizer.
struct CheckpointAttachment {
  std::string name;
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

inline constexpr std::string_view kCheckpointManifest = "manifest.json";
fs::path manifest_path(const fs::path& checkpoint);
// Whether a directory is a committed checkpoint: its manifest is there, read or not.
bool has_manifest(const fs::path& checkpoint);

// The manifest, written last: a directory without it is not a checkpoint.
struct CheckpointManifest {
  static constexpr int kVersion = 1;
  int64_t step = 0;
  // The order of saves in a run directory: higher than of any that was there when this one was begun. 0 in checkpoints
  // of builds that did not store it.
  int64_t sequence = 0;
  int64_t attempt = 0;                 // of the run that saved it
  nlohmann::ordered_json state;        // what the trainer needs besides tensors
  std::string job;                     // the resolved job, YAML
  nlohmann::ordered_json fingerprint;  // of the run's numerics
  nlohmann::ordered_json provenance;   // what wrote it: revision, libraries, overrides; null in older checkpoints
  std::vector<CheckpointFile> files;
  std::vector<CheckpointAttachment> attachments;
};

nlohmann::ordered_json file_to_json(const CheckpointFile& file);
CheckpointFile file_from_json(
    const nlohmann::ordered_json& json);  // throws nlohmann or weft errors; see read_checkpoint_manifest
std::string checkpoint_manifest_text(const CheckpointManifest& manifest);

// Reads and checks a checkpoint's manifest: version, its own hash, sizes of the files, slices inside their files and
// tensors. DataError with the path and what is wrong.
CheckpointManifest read_checkpoint_manifest(const fs::path& checkpoint);

// The text of an attachment, its checksum compared; DataError if there is none of that name.
std::string read_attachment(const fs::path& checkpoint, const CheckpointManifest& manifest, const std::string& name);

// Reads what there is besides tensors, or every slice, and compares checksums; DataError naming the file and tensor.
// `on_progress` is called after every few megabytes. Of several `readers` each reads the slices of some of the files.
void verify_attachments(const fs::path& checkpoint, const CheckpointManifest& manifest);
void verify_slices(const fs::path& checkpoint, const CheckpointManifest& manifest,
                   const std::function<void()>& on_progress = {}, int reader = 0, int readers = 1);
// Both.
void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress = {});

}  // namespace weft
