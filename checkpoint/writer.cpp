#include "checkpoint/writer.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "checkpoint/part.h"
#include "checkpoint/reader.h"
#include "kernels/transfer.h"
#include "parallel/agree.h"

namespace weft {
namespace {

// Gives each the other's name. Where the file system cannot do that at once (NFS), clear_unfinished() repairs what a
// kill in between leaves.
void exchange_durably(const fs::path& one, const fs::path& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
    return sync_directory(other.parent_path());
  }
  const fs::path aside = one.string() + std::string(kUnfinished);
  fs::rename(other, aside);
  fs::rename(one, other);
  fs::rename(aside, one);
  sync_directory(other.parent_path());
}

}  // namespace

std::string part_name(int rank) { return fmt::format("rank-{:05}", rank); }

void write_manifest(const fs::path& directory, const CheckpointHeader& header, std::vector<CheckpointFile> parts) {
  CheckpointManifest manifest{.step = header.step,
                              .sequence = header.sequence,
                              .attempt = header.attempt,
                              .state = header.state,
                              .job = header.job,
                              .fingerprint = header.fingerprint,
                              .provenance = header.provenance,
                              .files = std::move(parts)};
  for (const auto& [attached, text] : header.attachments) {
    write_file_atomically(directory / attached, text);
    manifest.attachments.push_back({attached, text.size(), hash64(text)});
  }
  write_file_atomically(manifest_path(directory), checkpoint_manifest_text(manifest));
}

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

CheckpointWriter::CheckpointWriter(fs::path directory, Context& context, Communicator& world)
    : directory_(std::move(directory)),
      context_(context),
      world_(world),
      host_(std::make_shared<MemoryPool>(snapshot_memory(context))) {}

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

bool CheckpointWriter::written() const { return written_; }

void CheckpointWriter::start(CheckpointHeader header, const std::vector<TensorBox>& owned) {
  require<InternalError>(!busy(), "a save is under way");
  const fs::path temporary = unfinished_path(checkpoint_path(directory_, header.step), header.attempt);
  agree(world_, [&] {
    std::error_code error;
    fs::remove_all(temporary, error);
    if (!error) fs::create_directories(temporary, error);
    if (!error) return std::string();
    throw DataError(fmt::format("create {}: {}", temporary.string(), error.message()),
                    "check the path and the free space of the run directory");
  });
  copy(owned);
  header_ = std::move(header);
  written_ = false;
  failure_.clear();
  thread_ = std::thread([this, temporary] {
    try {
      write_part(temporary);
    } catch (const std::exception& error) {
      failure_ = fmt::format("rank {} on {}: {}{}", world_.rank(), host_name(), describe(error), space_text(temporary));
    }
    written_ = true;
  });
}

// All of it into one block: pinned memory is made in pages, and slowly.
void CheckpointWriter::copy(const std::vector<TensorBox>& owned) {
  part_bytes_ = 0;
  for (const TensorBox& box : owned) part_bytes_ += box.data.bytes();
  const std::shared_ptr<Storage> memory = host_->allocate(part_bytes_);
  boxes_ = owned;
  std::vector<Tensor> from;
  std::vector<std::span<std::byte>> to;
  int64_t begin = 0;
  for (TensorBox& box : boxes_) {
    from.push_back(box.data);
    box.data = {memory, begin, box.data.shape(), box.data.dtype()};
    to.emplace_back(box.data.raw(), box.data.bytes());
    begin += static_cast<int64_t>(box.data.bytes());
  }
  snapshot_ = std::make_unique<Snapshot>(context_, from, to);
}

// Both numbers of a save that may have failed for want of room.
std::string CheckpointWriter::space_text(const fs::path& directory) const {
  std::error_code error;
  const auto space = fs::space(directory, error);
  return fmt::format("\n  this rank's part needs {} bytes; {} bytes are free in {}", part_bytes_,
                     error ? error.message() : fmt::format("{}", space.available), directory.string());
}

// What the part holds is left in a small file beside it for rank 0 to put into the manifest.
void CheckpointWriter::write_part(const fs::path& directory) {
  std::vector<CheckpointSlice> slices;
  for (const TensorBox& box : boxes_) {
    slices.push_back({.buffer = box.buffer,
                      .name = box.name,
                      .dtype = box.data.dtype(),
                      .shape = box.shape,
                      .origin = box.origin,
                      .extent = box.data.shape()});
  }
  CheckpointPart part(directory / (part_name(world_.rank()) + ".h5"), std::move(slices));
  snapshot_->wait();
  for (size_t i = 0; i < boxes_.size(); ++i) {
    part.write(i, {boxes_[i].data.raw(), boxes_[i].data.bytes()});
    context_.note_progress();
  }
  write_file_atomically(directory / (part_name(world_.rank()) + ".json"), file_to_json(part.finish()).dump());
}

// For rank 0, once every rank has written its part.
void CheckpointWriter::commit(const CheckpointHeader& header, const fs::path& temporary, const fs::path& target) const {
  std::vector<CheckpointFile> parts;
  for (int rank = 0; rank < world_.size(); ++rank) {
    const fs::path part = temporary / (part_name(rank) + ".json");
    parts.push_back(file_from_json(nlohmann::ordered_json::parse(read_file(part))));
    fs::remove(part);
  }
  write_manifest(temporary, header, std::move(parts));
  if (!fs::exists(target)) return rename_durably(temporary, target);
  // One of the same step, left by a resume from before it, perhaps the only one there is: it stays until the new one
  // has its name.
  exchange_durably(temporary, target);
  fs::remove_all(temporary);
}

fs::path CheckpointWriter::finish() {
  require<InternalError>(busy(), "no save is under way");
  thread_.join();
  const CheckpointHeader header = std::move(*header_);
  header_.reset();
  fs::path target = checkpoint_path(directory_, header.step);
  const fs::path temporary = unfinished_path(target, header.attempt);
  snapshot_.reset();
  boxes_.clear();
  const std::string problem = first_text(world_, failure_);
  agree(world_, [&] {
    try {
      if (!problem.empty()) throw DataError(problem);
      commit(header, temporary, target);
      return std::string();
    } catch (const std::exception& error) {
      const std::string why = problem.empty() ? describe(error) + space_text(temporary) : problem;
      std::error_code ignored;
      fs::remove_all(temporary, ignored);
      throw DataError(fmt::format("checkpoint {} was not saved: {}", target.string(), why),
                      "the checkpoints saved before are untouched; make room, then run the same command again");
    }
  });
  return target;
}

}  // namespace weft
