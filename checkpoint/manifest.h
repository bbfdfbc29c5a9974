// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "checkpoint/parts/part_index.h"
#include "parallel/mesh.h"

namespace weft {

// The file of one rank's arrays, and where in it the index of what they hold lies.
struct CheckpointFile {
  std::string name;  // rank-00000.h5, within the checkpoint's directory
  uint64_t bytes = 0;
  struct {
    uint64_t offset = 0, bytes = 0, hash = 0;
  } index;
  std::shared_ptr<const PartIndex> listed;  // format 1, whose manifest holds it
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

// The manifest, written last: a directory without it is not a checkpoint. It grows by a line a rank: what lies in a
// rank's file, the file's own index says.
struct CheckpointManifest {
  static constexpr int kVersion = 2;
  int64_t step = 0;
  // The order of saves in a run directory: higher than of any that was there when this one was begun. 0 in checkpoints
  // of builds that did not store it.
  int64_t sequence = 0;
  int64_t attempt = 0;                 // of the run that saved it
  nlohmann::ordered_json state;        // what the trainer needs besides tensors
  std::string job;                     // the resolved job, YAML
  nlohmann::ordered_json fingerprint;  // of the run's numerics
  nlohmann::ordered_json provenance;   // what wrote it: revision, libraries, overrides; null in older checkpoints
  MeshLayout layout;                   // of the ranks that wrote the files, in their order; 0 x 0 where it is not known
  std::vector<CheckpointFile> files;
  std::vector<CheckpointAttachment> attachments;
};

std::string checkpoint_manifest_text(const CheckpointManifest& manifest);
// Of the manifest at `path`: its version, its own hash, and that what it names is possible. DataError with the path and
// what is wrong.
CheckpointManifest parse_checkpoint_manifest(std::string_view text, const fs::path& path);
CheckpointManifest read_checkpoint_manifest(const fs::path& checkpoint);
// Its text; DataError if the directory is no checkpoint.
std::string read_manifest_text(const fs::path& checkpoint);
// The files are there, as large as they were written. DataError.
void check_files(const fs::path& checkpoint, const CheckpointManifest& manifest);

// The index of a file of the checkpoint, its checksum compared; DataError with the path.
std::shared_ptr<const PartIndex> read_index(const File& file, const CheckpointFile& stored);
std::shared_ptr<const PartIndex> read_index(const fs::path& checkpoint, const CheckpointFile& stored);

// The text of an attachment, its checksum compared; DataError if there is none of that name.
std::string read_attachment(const fs::path& checkpoint, const CheckpointManifest& manifest, const std::string& name);

// Reads what there is besides tensors, or every array, and compares checksums; DataError naming the file and tensor.
// `on_progress` is called after every few megabytes. Of several `readers` each reads some of the files.
void verify_attachments(const fs::path& checkpoint, const CheckpointManifest& manifest);
void verify_arrays(const fs::path& checkpoint, const CheckpointManifest& manifest,
                   const std::function<void()>& on_progress = {}, int reader = 0, int readers = 1);
// Both.
void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest,
                       const std::function<void()>& on_progress = {});

}  // namespace weft
