// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.h"

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
  MeshLayout layout;                                             // of the ranks that write
  std::vector<std::pair<std::string, std::string>> attachments;  // name, text
};

// That of a committed checkpoint, for one that is made of it.
CheckpointHeader header_of(const fs::path& checkpoint, const CheckpointManifest& manifest);

fs::path checkpoint_path(const fs::path& directory, int64_t step);  // DIR/step-00001000
// Where attempt 2 writes it: DIR/step-00001000.2.tmp, a name that no other attempt writes to.
fs::path unfinished_path(const fs::path& checkpoint, int64_t attempt);
// rank-00000.h5, the file of a rank's arrays.
std::string part_name(int rank);

// Attachments and manifest of a checkpoint in `directory` whose parts are written: what makes it one.
void write_manifest(const fs::path& directory, const CheckpointHeader& header, std::vector<CheckpointFile> parts);
// The same, and gives the directory the name of the checkpoint. One of the same step, left by a resume from before it
// and perhaps the only one there is, stays until the new one has its name.
void commit_checkpoint(const fs::path& temporary, const fs::path& target, const CheckpointHeader& header,
                       std::vector<CheckpointFile> parts);

}  // namespace weft
