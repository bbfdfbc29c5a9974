// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.h"

namespace weft {

// The contents of a checkpoint besides tensors, equal on every rank.
struct CheckpointHeader {
  int64_t step = 0;
  int64_t sequence = 0;  // place in the order of saves of the run directory
  int64_t attempt = 0;   // the attempt of the run that saves
  nlohmann::ordered_json state;
  std::string job;
  nlohmann::ordered_json fingerprint;
  nlohmann::ordered_json provenance;
  MeshLayout layout;                                             // the ranks that write
  std::optional<DigestedSave> save_before;                       // as in the manifest
  std::vector<std::pair<std::string, std::string>> attachments;  // name, text
};

// The header of a committed checkpoint, for a checkpoint that is derived from it.
CheckpointHeader header_of(const fs::path& checkpoint, const CheckpointManifest& manifest);

fs::path checkpoint_path(const fs::path& directory, int64_t step);  // DIR/step-00001000
// The directory that an attempt writes, DIR/step-00001000.2.tmp. No other attempt writes there.
fs::path unfinished_path(const fs::path& checkpoint, int64_t attempt);
// rank-00000.h5, the file of a rank's arrays.
std::string part_name(int rank);

// The parts of a checkpoint, which are written already, and the digest of the whole state.
struct WrittenParts {
  std::vector<CheckpointFile> files;
  uint64_t digest = 0;
};
// `digest`: of the arrays in the files.
WrittenParts written_parts(const CheckpointHeader& header, std::vector<CheckpointFile> files, uint64_t digest);

// Writes attachments and then the manifest, which makes `directory` a checkpoint.
void write_manifest(const fs::path& directory, const CheckpointHeader& header, WrittenParts parts);
// Calls write_manifest(), then renames the directory to the checkpoint's name. An older checkpoint of the same step,
// perhaps the only one of the run, stays until the new one has its name.
void commit_checkpoint(const fs::path& temporary, const fs::path& target, const CheckpointHeader& header,
                       WrittenParts parts);

}  // namespace weft
