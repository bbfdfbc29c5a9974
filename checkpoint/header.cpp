// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/header.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>

#include <cerrno>

#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/digest/state_digest.h"
#include "checkpoint/reader.h"

namespace weft {
namespace {

// Swaps the names of two directories. If the file system cannot do that atomically (NFS), clear_unfinished() repairs
// the state that a kill in between leaves.
void exchange_durably(const fs::path& one, const fs::path& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
    return sync_directory(other.parent_path());
  }
  // After any other error the names may have been swapped, and would be swapped back here.
  if (errno != ENOSYS && errno != EINVAL) throw_errno("exchange " + one.string() + " with", other);
  const fs::path aside = one.string() + std::string(kUnfinished);
  fs::rename(other, aside);
  fs::rename(one, other);
  fs::rename(aside, one);
  sync_directory(other.parent_path());
}

}  // namespace

CheckpointHeader header_of(const fs::path& checkpoint, const CheckpointManifest& manifest) {
  CheckpointHeader header{.step = manifest.step,
                          .sequence = manifest.sequence,
                          .attempt = manifest.attempt,
                          .state = manifest.state,
                          .job = manifest.job,
                          .fingerprint = manifest.fingerprint,
                          .provenance = manifest.provenance};
  for (const CheckpointAttachment& a : manifest.attachments) {
    header.attachments.emplace_back(a.name, read_attachment(checkpoint, manifest, a.name));
  }
  return header;
}

fs::path checkpoint_path(const fs::path& directory, int64_t step) {
  return directory / fmt::format("step-{:08}", step);
}

fs::path unfinished_path(const fs::path& checkpoint, int64_t attempt) {
  return fmt::format("{}.{}{}", checkpoint.string(), attempt, kUnfinished);
}

std::string part_name(int rank) { return fmt::format("rank-{:05}.h5", rank); }

WrittenParts written_parts(const CheckpointHeader& header, std::vector<CheckpointFile> files, uint64_t digest) {
  return {.files = std::move(files), .digest = digest + digest_of(run_state_from(header.state, "the checkpoint"))};
}

void write_manifest(const fs::path& directory, const CheckpointHeader& header, WrittenParts parts) {
  CheckpointManifest manifest{.step = header.step,
                              .sequence = header.sequence,
                              .attempt = header.attempt,
                              .state = header.state,
                              .job = header.job,
                              .fingerprint = header.fingerprint,
                              .provenance = header.provenance,
                              .layout = header.layout,
                              .digest = parts.digest,
                              .save_before = header.save_before,
                              .files = std::move(parts.files)};
  for (const auto& [attached, text] : header.attachments) {
    write_file_atomically(directory / attached, text);
    manifest.attachments.push_back({attached, text.size(), hash64(text)});
  }
  write_file_atomically(manifest_path(directory), checkpoint_manifest_text(manifest));
}

void commit_checkpoint(const fs::path& temporary, const fs::path& target, const CheckpointHeader& header,
                       WrittenParts parts) {
  write_manifest(temporary, header, std::move(parts));
  if (!fs::exists(target)) return rename_durably(temporary, target);
  exchange_durably(temporary, target);
  // The checkpoint is committed: what remains of the older one is cleared by the next start.
  std::error_code error;
  fs::remove_all(temporary, error);
  if (error) log_warning("{} was not removed: {}", temporary.string(), error.message());
}

}  // namespace weft
