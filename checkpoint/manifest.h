// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "checkpoint/parts/part_index.h"
#include "parallel/mesh.h"

namespace weft {

// The file of one rank's arrays, and the place of its index (checkpoint/parts/part_index.h).
struct CheckpointFile {
  std::string name;  // rank-00000.h5, within the checkpoint's directory
  uint64_t bytes = 0;
  struct {
    uint64_t offset = 0, bytes = 0, hash = 0;
  } index;
  std::shared_ptr<const PartIndex> listed;  // the index in format 1, whose manifest holds it
};

// A small file in the checkpoint, such as a tokenizer.
struct CheckpointAttachment {
  std::string name;
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

// A save, and the digest of the state that it saved (checkpoint/digest/state_digest.h).
struct DigestedSave {
  int64_t step = 0;
  uint64_t digest = 0;
};

inline constexpr std::string_view kCheckpointManifest = "manifest.json";
fs::path manifest_path(const fs::path& checkpoint);
// True if a directory is a committed checkpoint: it has a manifest, which is not read.
bool has_manifest(const fs::path& checkpoint);

// The manifest is written last: a directory without a manifest is not a checkpoint. It has a line per rank; the index
// of a rank's arrays is in the rank's file.
struct CheckpointManifest {
  static constexpr int kVersion = 2;
  int64_t step = 0;
  // Place in the order of saves of a run directory: higher than that of any checkpoint that existed when this save
  // began. 0 in checkpoints of builds that did not store it.
  int64_t sequence = 0;
  int64_t attempt = 0;                 // the attempt of the run that saved the checkpoint
  nlohmann::ordered_json state;        // a RunState: run_state_of()
  std::string job;                     // the resolved job, YAML
  nlohmann::ordered_json fingerprint;  // the run's numerics
  nlohmann::ordered_json provenance;   // revision, libraries, overrides; null in older checkpoints
  MeshLayout layout;                   // the ranks that wrote the files, in their order; sizes of 0 if unknown
  std::optional<uint64_t> digest;      // of arrays and state; earlier builds stored none
  // The save that training continued from, if there was one and it has a digest: of the run itself, or the checkpoint
  // that it resumed from.
  std::optional<DigestedSave> save_before;
  std::vector<CheckpointFile> files;
  std::vector<CheckpointAttachment> attachments;
};

std::string checkpoint_manifest_text(const CheckpointManifest& manifest);
// Parses the text of the manifest at `path` and checks its version, its own hash and that its values are possible.
// DataError with the path and the reason.
CheckpointManifest parse_checkpoint_manifest(std::string_view text, const fs::path& path);
CheckpointManifest read_checkpoint_manifest(const fs::path& checkpoint);
// The text of a manifest; DataError if the directory is not a checkpoint.
std::string read_manifest_text(const fs::path& checkpoint);
// DataError unless all files are there with the sizes that they were written with.
void check_files(const fs::path& checkpoint, const CheckpointManifest& manifest);

// Reads the index of a file of the checkpoint and compares its checksum; DataError with the path.
std::shared_ptr<const PartIndex> read_index(const File& file, const CheckpointFile& stored);
std::shared_ptr<const PartIndex> read_index(const fs::path& checkpoint, const CheckpointFile& stored);

// Reads an attachment and compares its checksum; DataError if the checkpoint has no attachment of that name.
std::string read_attachment(const fs::path& checkpoint, const CheckpointManifest& manifest, const std::string& name);

// Reads all attachments, or every array, and compares checksums; DataError naming the file and tensor. `on_progress` is
// called after every few megabytes. Each of several `readers` reads some of the files. Returns the digest of the arrays
// that this reader has read.
void verify_attachments(const fs::path& checkpoint, const CheckpointManifest& manifest);
uint64_t verify_arrays(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress = {}, int reader = 0, int readers = 1);
// Verifies the attachments, the arrays and the digest, if there is one.
void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress = {});

}  // namespace weft
